"""The judgement: the floor's record against the rows of the store, read by plain SQL."""

import json
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import psycopg

WAGER_CENTS = 200
_EVENTS = "SELECT table_id, data, transfers FROM events WHERE type = 'wager_accepted' ORDER BY chain, seq"
_MONEY = "SELECT SUM(amount_cents) FROM transfers WHERE source = 'players'"


@dataclass
class Judgement:
    """What a record and a store say together; everything is right if all of it is empty."""

    wagers: int = 0
    lost: list = field(default_factory=list)
    doubled: list = field(default_factory=list)
    hung: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    @property
    def is_right(self):
        return not (self.lost or self.doubled or self.hung or self.problems)


def rows(database, query):
    """Return the rows of a query, without the controller's code."""
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(f"file:{database.removeprefix('sqlite:///')}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()
    with psycopg.connect(database, connect_timeout=10) as connection:
        return connection.execute(query).fetchall()


def judge(record, database):
    """Compare the record with the trail: accepted exactly once, and paid for exactly once."""
    found = rows(database, _EVENTS)
    posted = Counter((table, body["box"], body["wager_id"]) for table, data, _ in found for body in [json.loads(data)])
    result = Judgement(len(record.keys()))
    result.lost = sorted(record.accepted() - posted.keys())
    result.doubled = sorted(key for key, times in posted.items() if times > 1)
    result.hung = sorted(wager.key for wager in record.unanswered())
    unknown = posted.keys() - record.keys()
    if unknown:
        result.problems.append(f"{len(unknown)} wagers in the trail were never sent, such as {min(unknown)}")
    paid = rows(database, _MONEY)[0][0] or 0
    if paid != WAGER_CENTS * posted.total():
        result.problems.append(f"{posted.total()} wagers were posted, but players paid {paid} cents")
    return result


def verify(command, folder, environment):
    """Run `jackpot audit verify` and return its problem, or None."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()[-500:]
