"""Run the kinds of faults and write the report: `python -m tests.faults --trials 3`."""

import argparse
import sys
import time
from pathlib import Path

from tests.faults.forgeries import FORGERIES
from tests.faults.kinds import KINDS
from tests.faults.processes import end_in_order
from tests.faults.report import RESULTS, save_results, say
from tests.faults.trial import run, run_forgery


def main():
    """Run every chosen kind on its stores and brokers; exit 1 if a result is not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[""], help="run the kinds whose names contain one of these texts")
    parser.add_argument("--store", help="run only on this store")
    parser.add_argument("--broker", help="run only with this broker")
    parser.add_argument("--controllers", type=int, help="run only the kinds for this number of controllers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the JSON file to which results are added")
    parser.add_argument("--keep-going", action="store_true", help="exit with 0 although a result is not right")
    parser.add_argument("--list", action="store_true", help="list the kinds and run nothing")
    chosen = parser.parse_args()
    end_in_order()
    jobs = [(kind, run) for kind in KINDS if chosen.controllers in (None, kind.controllers)]
    jobs += [(forgery, run_forgery) for forgery in FORGERIES if chosen.controllers in (None, 1)]
    wrong = 0
    for kind, runner in jobs:
        for store, broker in kind.on:
            if not any(text in kind.name for text in chosen.only) or not _is_chosen(chosen, store, broker):
                continue
            if chosen.list:
                say(f"{kind.name}: {store}, {broker}")
                continue
            began = time.monotonic()
            result = runner(kind, store, broker, chosen.trials, say=lambda text: say(f"  {text}"))
            group = {"results" if runner is run else "forgeries": [result]}
            save_results(chosen.results, **group)
            wrong += not result.is_right
            state = "right" if result.is_right else "WRONG"
            say(f"{state} after {time.monotonic() - began:.0f} s: {result.as_json()}")
    sys.exit(1 if wrong and not chosen.keep_going else 0)


def _is_chosen(chosen, store, broker):
    return chosen.store in (None, store) and chosen.broker in (None, broker)


if __name__ == "__main__":
    main()
