"""Changes to the store and to the broker behind the controller's back, which must be noticed."""

import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from hashlib import sha256

from tests.faults.broker_faults import stranger
from tests.faults.fault import DICE, ON_POSTGRES, ON_SQLITE, Forgery
from tests.faults.judgement import rows, verify
from tests.faults.processes import jackpot, kill, start, wait_until

START_SECONDS = 60
RESTORED_SECONDS = 2.0
_SUFFIXES = ("", "-wal", "-shm")
_BOTH = (*ON_SQLITE, ON_POSTGRES[0])


def is_noticed(site):
    """Return True if the change is noticed at the start, or by verification after a stop."""
    return is_noticed_at_start(site) or is_found(site)


def is_noticed_at_start(site):
    """Start the controller; return True if it ends with an error or raises an alarm; stop it again."""
    site.controller.start()
    process = site.controller.process
    wait_until(lambda: process.poll() is not None or _readiness(site)[0] == 200, "start or refusal", START_SECONDS)
    if process.poll() is not None:
        return process.returncode != 0
    _, parts = _readiness(site)
    shown = [name for name in ("alarms", "audit") if not parts.get(name, {}).get("ready", True)]
    site.controller.stop(10)
    return bool(shown)


def is_found(site):
    """Return True if `jackpot audit verify` finds something wrong."""
    return verify(site.verify_command(), site.controller.folder, site.environment) is not None


def _readiness(site):
    """Return the status of /readyz, and its parts as an operator sees them."""
    headers = {"Authorization": f"Bearer {site.tokens['manager1']}"}
    request = urllib.request.Request(f"http://{site.controller.address}/readyz", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return reply.status, json.load(reply).get("parts", {})
    except urllib.error.HTTPError as error:
        return error.code, {}
    except (OSError, ValueError):
        return None, {}


# Older or damaged files.


def sqlite_rolled_back(site):
    """Put an older copy of the SQLite file in place."""
    site.controller.kill()
    copy = _copied(site)
    site.controller.start()
    site.settle()
    site.controller.kill()
    for name in _SUFFIXES:
        site.store.file.with_name(f"{site.store.file.name}{name}").unlink(missing_ok=True)
    for path in copy.iterdir():
        shutil.copy2(path, site.store.file.with_name(path.name))
    return is_noticed_at_start(site)


def _copied(site):
    folder = site.folder / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in _SUFFIXES:
        path = site.store.file.with_name(f"{site.store.file.name}{name}")
        if path.exists():
            shutil.copy2(path, folder / path.name)
    return folder


def postgres_rolled_back(site):
    """Put an older copy of PostgreSQL's data folder in place."""
    copy = site.store.data.with_name("copy")
    site.store.stop()
    subprocess.run(["cp", "-a", str(site.store.data), str(copy)], check=True)
    site.store.start()
    site.settle()
    site.controller.kill()
    site.store.stop()
    shutil.rmtree(site.store.data)
    copy.rename(site.store.data)
    site.store.start()
    return is_noticed_at_start(site)


def _damaged_wal(site, damage):
    """Kill the controller and damage the write-ahead log, until that really loses events."""
    for _ in range(20):
        site.controller.kill()
        before = rows(_copy_url(site), "SELECT seq FROM chains WHERE chain = 'main'")[0][0]
        damage(site.store.file.with_name(f"{site.store.file.name}-wal"))
        site.store.file.with_name(f"{site.store.file.name}-shm").unlink(missing_ok=True)
        if rows(_copy_url(site), "SELECT seq FROM chains WHERE chain = 'main'")[0][0] < before:
            return is_noticed_at_start(site)
        site.controller.start()
        site.settle(DICE.uniform(0.2, 1.0))
    raise TimeoutError("the write-ahead log never held an event that the file did not")


def _copy_url(site):
    """Return the address of a copy of the SQLite file, because reading the file itself would change it."""
    return f"sqlite:///{_copied(site) / site.store.file.name}"


def wal_deleted(site):
    """Delete the write-ahead log after a kill."""
    return _damaged_wal(site, lambda wal: wal.unlink())


def wal_cut(site):
    """Cut the write-ahead log in the middle after a kill."""
    return _damaged_wal(site, lambda wal: os.truncate(wal, wal.stat().st_size // 2))


def wal_flipped(site):
    """Flip a bit in the first frames of the write-ahead log after a kill."""
    return _damaged_wal(site, lambda wal: _flip(wal, DICE.randrange(32, 2_000)))


def bit_flipped(site):
    """Flip a bit of the SQLite file, such that SQLite's own check finds it."""
    site.controller.stop(10)
    for _ in range(200):
        copy = _copied(site) / site.store.file.name
        _flip(copy, DICE.randrange(100, copy.stat().st_size))
        if not _is_intact(copy):
            shutil.copy2(copy, site.store.file)
            return is_found(site)
    raise TimeoutError("no bit flip was found by SQLite itself")


def _flip(path, position):
    content = bytearray(path.read_bytes())
    content[position % len(content)] ^= 1 << DICE.randrange(8)
    path.write_bytes(content)


def _is_intact(path):
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    except sqlite3.Error:
        return False


# Forged rows.


@contextmanager
def _superuser(site):
    """Change rows as one who may do anything; triggers are dropped or disabled first."""
    if site.store.port:
        with site.store.connect() as connection, connection.transaction():
            connection.execute("SET session_replication_role = replica")
            yield lambda query, *values: connection.execute(query.replace("?", "%s"), values)
        return
    with closing(sqlite3.connect(site.store.file)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield lambda query, *values: connection.execute(query, values)
        connection.commit()


def history_forged(site):
    """Change the actor of a recent event, rehash to the end, and delete the checkpoints over it."""
    site.controller.kill()
    with _superuser(site) as run:
        head = run("SELECT seq FROM chains WHERE chain = 'main'").fetchone()[0]
        _rehash(run, max(2, head - 50))
    return is_noticed(site)


def _rehash(run, first):
    """Forge the event at a sequence number, and hash it and all later ones again."""
    fields = "chain, seq, at, actor, type, table_id, round, data, transfers"
    query = f"SELECT {fields}, hash FROM events WHERE chain = 'main' AND seq >= ? ORDER BY seq"
    found = run(query, first - 1).fetchall()
    before = bytes(found[0][-1])
    for number, row in enumerate(found[1:]):
        changed = [*row[:-1]]
        changed[3] = "forger" if number == 0 else changed[3]
        text = "".join(f"{len(str(field))}:{field}," if field is not None else "," for field in changed)
        before = sha256(before + text.encode()).digest()
        run("UPDATE events SET actor = ?, hash = ? WHERE chain = 'main' AND seq = ?", changed[3], before, row[1])
    run("UPDATE chains SET head = ? WHERE chain = 'main'", before)
    gone = run("DELETE FROM checkpoints WHERE chain = 'main' AND seq >= ?", first).rowcount
    run("UPDATE chains SET signed = signed - ? WHERE chain = 'main'", gone)


def checkpoints_deleted(site):
    """Delete every checkpoint, and set their number to 0."""
    site.controller.stop(10)
    with _superuser(site) as run:
        run("DELETE FROM checkpoints")
        run("UPDATE chains SET signed = 0")
    return is_noticed(site)


def balance_raised(site):
    """Add $1,000,000 to the jackpot pool's balance."""
    site.controller.stop(10)
    with _superuser(site) as run:
        run(
            "UPDATE balances SET balance_cents = balance_cents + 100000000 WHERE chain = 'main' AND account = 'jackpot'"
        )
    return is_noticed_at_start(site)


def foreign_rows(site):
    """Add events of a chain that does not exist."""
    site.controller.stop(10)
    with _superuser(site) as run:
        fields = "seq, at, actor, type, table_id, round, data, transfers, hash"
        run(f"INSERT INTO events (chain, {fields}) SELECT 'shadow', {fields} FROM events WHERE chain = 'site'")
    return is_found(site)


def epoch_lowered(site):
    """Lower the epoch of a chain."""
    site.controller.stop(10)
    with _superuser(site) as run:
        run("UPDATE chains SET epoch = 1 WHERE chain = 'main'")
    return is_found(site)


def owner_changed(site):
    """Change the owner of a chain."""
    site.controller.kill()
    with _superuser(site) as run:
        run("UPDATE chains SET owner = 'forger:1' WHERE chain = 'main'")
    return is_found(site)


# The broker.


def own_topics_forged(site):
    """Forge each retained topic of the controller, then wipe it; each must be right again within 2 s."""
    site.floor.finish(30)
    topics = ("tables/t1/pads/1/lamp", "tables/t1/state", "jackpots/main/meter", "jackpots/main/controller")
    return all(_is_restored(site, topic, forged) for topic in topics for forged in (_forged(topic), ""))


def _forged(topic):
    body = {"epoch": 2**40, "seq": 2**40, "forged": True}
    if topic.endswith("lamp"):
        body |= {"round": 1, "lit": True, "wager_id": "x", "answer": None}
    return json.dumps(body)


def _is_restored(site, topic, payload):
    """Publish a retained message of a stranger; return True if another one replaces it in time."""
    name = f"jackpot/v1/{site.site}/{topic}"
    with stranger(site) as client:
        client.publish(name, payload, 1, retain=True).wait_for_publish(10)
        until = time.monotonic() + RESTORED_SECONDS
        while time.monotonic() < until:
            found = _retained(client, name)
            if found and found != payload.encode():
                return True
    return False


def _retained(client, topic):
    """Return the retained message of a topic; None if there is none."""
    arrived, found = threading.Event(), []

    def on_message(_client, _userdata, message):
        found.append(message.payload)
        arrived.set()

    client.on_message = on_message
    client.subscribe(topic, 1)
    arrived.wait(0.3)
    client.unsubscribe(topic)
    return found[0] if found else None


def retained_wager(site):
    """Let a new broker session deliver a retained wager for an open round: it must not be posted."""
    site.floor.finish(30)
    number, wager_id = _opened_round(site), f"retained-{DICE.randrange(10**9)}"
    site.controller.broker_proxy.cut()
    site.broker.nodes[0].kill()
    site.broker.nodes[0].start()
    body = {"wager_id": wager_id, "round": number, "amount_cents": 200, "ante": True}
    with stranger(site) as client:
        topic = f"jackpot/v1/{site.site}/tables/t1/pads/1/wager"
        client.publish(topic, json.dumps(body), 1, retain=True).wait_for_publish(10)
    site.controller.broker_proxy.restore()
    wait_until(lambda: site.controller.readiness() == 200, "the controller's connection")
    time.sleep(RESTORED_SECONDS)
    return not rows(site.store.url, f"SELECT 1 FROM wagers WHERE wager_id = '{wager_id}'")


def _opened_round(site):
    """Open a round at the first table and return its number."""
    root = f"jackpot/v1/{site.site}/tables/t1"
    with stranger(site) as client:
        body = {"command_id": f"forger-{DICE.randrange(10**9)}", "type": "open_round"}
        client.publish(f"{root}/dealer/command", json.dumps(body), 1).wait_for_publish(10)
        opened = lambda: json.loads(_retained(client, f"{root}/state") or "{}")  # noqa: E731
        return wait_until(lambda: (state := opened()).get("phase") == "open" and state["round"], "an open round")


def second_database(site):
    """Start another controller of the same site and broker on a database of its own: it must refuse to serve."""
    folder = site.folder / f"other-{DICE.randrange(10**9)}"
    folder.mkdir()
    broker = f"mqtt://{site.broker.host}:{site.broker.port}"
    options = ("--site", site.site, "--tables", "4", "--broker", broker, "--database", "sqlite:///other.db")
    environment = {**site.environment, "JACKPOT_HTTP": "", "JACKPOT_BROKER": broker}
    subprocess.run(jackpot("init", *options), cwd=folder, env=environment, check=True, capture_output=True)
    other = start(*jackpot("serve"), log=folder / "log", cwd=folder, env=environment)
    try:
        wait_until(lambda: other.poll() is not None or b'"serving"' in (folder / "log").read_bytes(), "start", 60)
        return other.poll() not in (None, 0)
    finally:
        kill(other)


FORGERIES = (
    Forgery("older copy of the store started", sqlite_rolled_back),
    Forgery("older copy of the store started", postgres_rolled_back, ON_POSTGRES[:1]),
    Forgery("write-ahead log deleted after kill -9", wal_deleted),
    Forgery("write-ahead log cut after kill -9", wal_cut),
    Forgery("write-ahead log with a flipped bit after kill -9", wal_flipped),
    Forgery("flipped bit in the file that SQLite's own check finds", bit_flipped),
    Forgery("history forged, rehashed, its checkpoints deleted", history_forged, _BOTH),
    Forgery("every checkpoint deleted", checkpoints_deleted, _BOTH),
    Forgery("$1,000,000 added to the pool's balance", balance_raised, _BOTH),
    Forgery("events of a chain that does not exist", foreign_rows, ON_POSTGRES[:1]),
    Forgery("epoch lowered", epoch_lowered, _BOTH),
    Forgery("owner changed", owner_changed, _BOTH),
    Forgery(
        "lamp, state, meter or controller topic forged or wiped", own_topics_forged, (*ON_SQLITE, ("sqlite", "nats"))
    ),
    Forgery("retained wager", retained_wager),
    Forgery("second database on the same site and broker", second_database),
)
