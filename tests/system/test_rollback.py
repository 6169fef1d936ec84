"""A store that has lost history, or whose history was changed, is not served, and nothing of it is signed."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.event_rows import rows_of_chain
from jackpot.store.hash_chain import GENESIS, event_hash
from jackpot.store.mark_notes import open_mark
from tests.support.daemon import wait_until

NOTHING = ["Kd", "Jc", "4s", "3s", "2s"]


@pytest.fixture
def site(new_site, mosquitto_port):
    return new_site(mosquitto_port, tables=1)


@pytest.fixture
def client(site, new_client, mosquitto_port):
    return new_client(mosquitto_port, site.id, "tables/#", "jackpots/#")


def files(site):
    """Return the store's file, its write-ahead log and its shared memory."""
    file = site.folder / "jackpot.db"
    return file, Path(f"{file}-wal"), Path(f"{file}-shm")


def copied(site, folder):
    folder.mkdir()
    for file in files(site):
        if file.exists():
            shutil.copy(file, folder)
    return folder


def put_back(site, folder):
    for file in files(site):
        file.unlink(missing_ok=True)
        if (folder / file.name).exists():
            shutil.copy(folder / file.name, file)


def marked(site):
    """Return the sequence number of main's mark in the file beside the key."""
    return json.loads((site.folder / "jackpot.key.marks").read_text())["marks"].get("main", {"seq": 0})["seq"]


def play(site, client, number):
    """Play a round and wait until the marks have it."""
    client.play("t1", number, NOTHING)
    seq = client.wait("tables/t1/state", lambda state: (state["round"], state["phase"]) == (number, "idle"))["seq"]
    wait_until(lambda: marked(site) >= seq, "the mark in the file")
    note = client.wait("jackpots/main/mark", lambda mark: open_mark(site.verifier, "main", mark["note"]).seq >= seq)
    assert open_mark(site.verifier, "main", note["note"]).seq == seq
    return seq


def refuses(site, *words):
    """Start the daemon and check that it ends with this sentence, and has signed nothing."""
    of_main = select(tables.chains.c.epoch, tables.chains.c.signed).where(tables.chains.c.chain == "main")
    before = site.rows(of_main)
    started = len(site.log)
    site.start(wait=False)
    assert site.process.wait(timeout=60) == 1
    site.starts -= 1
    said = site.log[started:]
    assert "Traceback" not in said
    for word in words:
        assert word in said, said
    assert site.rows(of_main) == before


def recover(site, *options):
    return site.run("recover", "--reason", "the disk broke", *options)


def test_an_older_copy_is_not_served_until_two_managers_record_the_loss(site, client, tmp_path):
    site.start()
    older = play(site, client, 1)
    assert site.stop() == 0
    copied(site, tmp_path / "older")
    site.start()
    newer = play(site, client, 2)
    assert site.stop() == 0
    put_back(site, tmp_path / "older")
    missing = f"events {older + 1} to {newer} of main are missing"
    refuses(site, missing, f"the store ends at {older}", "jackpot recover")
    assert site.run("audit", "verify").code == 1
    one, two = site.tokens
    assert "another one" in recover(site, "--token", one, "--second-token", one).err
    done = recover(site, "--token", one, "--second-token", two, "--json")
    assert done.code == 0, done.err
    losses = {loss["chain"]: loss for loss in json.loads(done.out)}
    assert (losses["main"]["from_seq"], losses["main"]["to_seq"]) == (older + 1, newer)
    recorded = site.events()[-1]
    assert (recorded.type, recorded.actor, recorded.data["approved_by"]) == (
        "history_recovered",
        "manager1",
        "manager2",
    )
    assert site.verified()
    site.start()
    assert play(site, client, 2) > older
    assert "Nothing is lost" not in recover(site, "--token", one, "--second-token", two).out, "a controller runs"
    assert site.stop() == 0
    assert "Nothing is lost" in recover(site, "--token", one, "--second-token", two).out
    assert site.verified()


def test_the_signed_mark_of_the_broker_is_enough_to_notice_a_rollback(site, client, tmp_path):
    site.start()
    older = play(site, client, 1)
    assert site.stop() == 0
    copied(site, tmp_path / "older")
    shutil.copy(site.folder / "jackpot.key.marks", tmp_path / "marks")
    site.start()
    newer = play(site, client, 2)
    assert site.stop() == 0
    put_back(site, tmp_path / "older")
    shutil.copy(tmp_path / "marks", site.folder / "jackpot.key.marks")
    refuses(site, f"events {older + 1} to {newer} of main are missing")


def test_a_mark_that_is_not_signed_only_raises_an_alarm(site, client):
    site.start()
    seq = play(site, client, 1)
    state = client.last("tables/t1/state")
    assert site.stop() == 0
    client.publish("tables/t1/state", {**state, "seq": seq + 1_000}, retain=True)
    client.publish("jackpots/main/mark", {"note": "casino/main/mark\n9999\n"}, retain=True)
    site.start()
    assert site.metric('jackpot_alarm{code="broker_ahead",jackpot="main"}') == 1


@pytest.mark.parametrize("damage", ["deleted", "cut", "foreign"])
def test_a_write_ahead_log_that_was_lost_or_replaced_is_noticed(site, client, tmp_path, damage):
    site.start()
    older = play(site, client, 1)
    assert site.stop() == 0
    copied(site, tmp_path / "older")  # a file without a log: a clean stop copies the log into it
    site.start()
    client.play("t1", 2, NOTHING)
    wait_until(lambda: marked(site) > older, "the mark in the file")
    newer = marked(site)
    site.kill()
    assert newer <= site.head()
    base, log, memory = files(site)
    with closing(sqlite3.connect(base)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # keeps the log from being copied when this connection closes
        now = copied(site, tmp_path / "now")
    put_back(site, now)
    shutil.copy(tmp_path / "older" / "jackpot.db", base)  # the log was never copied into the file
    memory.unlink(missing_ok=True)
    if damage == "deleted":
        log.unlink()
    elif damage == "cut":
        log.write_bytes(log.read_bytes()[: 32 + 24 + 100])
    else:
        log.write_bytes(b"\x37\x7f\x06\x82" + bytes(5_000))
    refuses(site, "of main are missing", f"the store ends at {older}")


def test_a_forged_history_is_not_served_and_not_signed(site, client):
    """Finding 3 of the fault findings."""
    site.start()
    play(site, client, 1)
    assert site.stop() == 0
    forge(site)
    refuses(site, "of main is not the one that was committed")
    assert site.run("audit", "verify").code == 1
    assert site.run("backup", "copy.db").code == 1


def forge(site):
    """Change an actor, hash to the end anew, delete the covering checkpoint, and lower the count."""
    with closing(sqlite3.connect(site.folder / "jackpot.db")) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE events SET actor = 'forger' WHERE chain = 'main' AND type = 'round_settled'")
        connection.execute("DELETE FROM snapshots")
        last = "(SELECT max(seq) FROM checkpoints WHERE chain = 'main')"
        connection.execute(f"DELETE FROM checkpoints WHERE chain = 'main' AND seq = {last}")
        connection.execute("UPDATE chains SET signed = signed - 1 WHERE chain = 'main'")
        connection.commit()
        head = GENESIS
        for row in hashed(site):
            head = event_hash(head, row[:-1])
            connection.execute("UPDATE events SET hash = ? WHERE chain = 'main' AND seq = ?", (head, row.seq))
        connection.execute("UPDATE chains SET head = ? WHERE chain = 'main'", (head,))
        connection.commit()


def hashed(site):
    database = Database(site.database)
    with database.reader() as connection:
        rows = list(rows_of_chain(connection, "main"))
    database.close()
    return rows


def test_balances_and_states_that_were_changed_are_not_served(site, client):
    """Finding 8 of the fault findings."""
    site.start()
    play(site, client, 1)
    assert site.stop() == 0
    b = tables.balances.c
    more = tables.balances.update().where(b.chain == "main", b.account == "jackpot")
    site.change(more.values(balance_cents=b.balance_cents + 100_000_000))
    refuses(site, "the balance of jackpot is")
    site.change(more.values(balance_cents=b.balance_cents - 100_000_000))
    site.start()


def test_a_restore_records_what_it_replaced_and_does_not_lower_the_marks(site, client):
    site.start()
    older = play(site, client, 1)
    assert site.run("backup", "copy.db").code == 0
    newer = play(site, client, 2)
    assert site.stop() == 0
    for file in files(site):
        file.unlink(missing_ok=True)
    restored = site.answer("restore", "copy.db")
    assert restored["behind"]["main"] == newer
    recorded = [row for row in site.answer("audit", "list", "--chain", "site") if row["type"] == "store_restored"]
    data = json.loads(recorded[0]["data"]) if isinstance(recorded[0]["data"], str) else recorded[0]["data"]
    assert data["heads"]["main"]["seq"] == older
    assert data["behind"]["main"]["seq"] == newer
    assert "main" in data["heads"]
    refuses(site, "missing")
    one, two = site.tokens
    done = recover(site, "--token", one, "--second-token", two, "--json")
    assert done.code == 0, done.err
    assert {loss["chain"]: loss["from_seq"] for loss in json.loads(done.out)}["main"] == older + 1
    assert site.verified()
    site.start()
    play(site, client, 2)


def test_without_a_file_of_marks_the_daemon_starts_and_records_one(site, client):
    site.start()
    seq = play(site, client, 1)
    assert site.stop() == 0
    (site.folder / "jackpot.key.marks").unlink()
    site.start()
    wait_until(lambda: (site.folder / "jackpot.key.marks").exists() and marked(site) >= seq, "a new file")
