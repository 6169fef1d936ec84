"""Trials: play, inject a fault of one kind, wait for the recovery, and judge."""

import re
import time
import traceback
from dataclasses import asdict, dataclass, field

from tests.faults.judgement import Judgement, judge, verify
from tests.faults.surroundings import Surroundings

HANG_SECONDS = 60.0
"""A wager that is unanswered this long after the fault's end hangs."""
SILENT_SECONDS = 6.0
"""No accepted wager for this long while /readyz answers 200 is a silent hang; the controller has 3 s to notice."""
STALE_SECONDS = 2.0
"""States of an earlier owner may still be on their way for this long after the first of the next owner."""
STOP_SECONDS = 10.0
MAX_STOP_SECONDS = 60.0
PLAY_AFTER = 20


@dataclass
class Result:
    """What all trials of a kind on one store and broker gave."""

    kind: str
    store: str
    broker: str
    limit_seconds: float
    controllers: int = 1
    trials: int = 0
    wagers: int = 0
    lost: int = 0
    doubled: int = 0
    hung: int = 0
    stuck: int = 0
    silent: int = 0
    stale: int = 0
    late: int = 0
    recovery_seconds: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    @property
    def is_kept(self):
        """True if every wager was answered, kept once, and play went on, however long it took."""
        return not (self.lost or self.doubled or self.hung or self.stuck or self.problems)

    @property
    def is_right(self):
        return self.is_kept and not (self.silent or self.stale or self.late)

    def add(self, judged: Judgement):
        self.wagers += judged.wagers
        self.lost += len(judged.lost)
        self.doubled += len(judged.doubled)
        self.hung += len(judged.hung)
        self.problems += judged.problems

    def as_json(self):
        return {**asdict(self), "recovery_seconds": [round(seconds, 2) for seconds in self.recovery_seconds]}


@dataclass
class Notices:
    """How many changes of a kind were noticed."""

    kind: str
    store: str
    broker: str
    trials: int = 0
    noticed: int = 0
    problems: list = field(default_factory=list)

    @property
    def is_right(self):
        return self.noticed == self.trials and not self.problems

    def as_json(self):
        return asdict(self)


def run_forgery(forgery, store, broker, trials, *, say=lambda _text: None):
    """Attempt a forgery a number of times, each in new surroundings."""
    result = Notices(forgery.name, store, broker)
    while result.trials < trials:
        result.trials += 1
        site = Surroundings(store, broker, **forgery.options)
        try:
            site.begin()
            noticed = forgery.attempt(site)
            result.noticed += noticed
            say(f"{forgery.name}, {store}, {broker}: {'noticed' if noticed else 'NOT NOTICED'}")
        except Exception as error:  # noqa: BLE001 - a trial that cannot be carried out is a finding
            result.problems.append(_shown(error))
            say(traceback.format_exc())
        finally:
            site.close()
    return result


def run(kind, store, broker, trials, *, say=lambda _text: None, make_site=Surroundings):
    """Run trials of a kind, in new surroundings after each that did not recover."""
    result = Result(kind.name, store, broker, kind.limit_seconds, kind.controllers)
    while result.trials < trials:
        _play(kind, result, trials, say, make_site)
    return result


def _play(kind, result, trials, say, make_site):
    """Play in one surroundings until the trials are done or one has failed; then judge."""
    site = make_site(result.store, result.broker, controllers=kind.controllers, **kind.options)
    try:
        site.begin()
        recovered = True
        while recovered and result.trials < trials:
            result.trials += 1
            recovered = _inject(kind, site, result)
            last = f"{result.recovery_seconds[-1]:.2f} s" if recovered and result.recovery_seconds else "not recovered"
            say(f"{kind.name}, {result.store}, {result.broker}: {last}")
        _judge(site, result)
    except Exception as error:  # noqa: BLE001 - a trial that cannot be carried out is a finding
        result.trials = max(1, result.trials)
        result.problems.append(_shown(error))
        say(traceback.format_exc())
        result.trials = trials
    finally:
        site.close()


def _inject(kind, site, result):
    """Inject a fault and wait for the recovery; return False if play does not go on."""
    try:
        fault = kind.inject(site)
    except TimeoutError as error:
        result.problems.append(_shown(error))
        return False
    if not site.await_play(fault.ended, PLAY_AFTER, HANG_SECONDS):
        result.stuck += 1
        result.silent += site.silent_seconds(fault.began, time.monotonic()) > SILENT_SECONDS
        result.problems.append(f"play did not go on: {site.why_stuck()}")
        return False
    until = time.monotonic()
    seconds = _recovery_seconds(site.floor.record, fault, until)
    result.recovery_seconds.append(seconds)
    result.late += seconds > kind.limit_seconds
    result.silent += site.silent_seconds(fault.began, until) > SILENT_SECONDS
    site.settle()
    return True


def _recovery_seconds(record, fault, until):
    if fault.measured_from is None:
        return record.gap_seconds(fault.began, until)
    if fault.measured_from > fault.began:
        _, first = record.accepted_since(fault.ended)
        return first - fault.ended
    return record.outage_seconds(fault.began, until)


def _judge(site, result):
    """Finish the play, stop every controller, and compare the record with the store."""
    site.floor.finish(HANG_SECONDS)
    for controller in site.controllers:
        seconds = controller.stop(MAX_STOP_SECONDS) if controller.process.poll() is None else 0.0
        if seconds is None:
            result.problems.append(f"SIGTERM did not end the controller within {MAX_STOP_SECONDS:.0f} s")
        elif controller.process.returncode not in (0, -9):
            code = controller.process.returncode
            result.problems.append(f"the controller ended with {code}: {_shown(site.last_log(controller))}")
        result.late += seconds is not None and seconds > STOP_SECONDS
    result.stale += sum(seconds > STALE_SECONDS for seconds in site.floor.record.stale_seconds)
    result.add(judge(site.floor.record, site.store.url))
    problem = verify(site.verify_command(), site.controller.folder, site.environment)
    if problem is not None:
        result.problems.append(f"audit verify: {_shown(problem)}")


def _shown(error):
    """Return an error as one line without paths of this machine."""
    return re.sub(r"(/[\w.-]+){2,}", "…", " ".join(str(error).split()))[:300] or type(error).__name__
