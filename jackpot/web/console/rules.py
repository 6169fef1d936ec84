"""The instruments, clause by clause: what each clause asks, who sees to it, where, and which tests show it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.web.console.layout import Visiting
from jackpot.web.problems import Problem
from rules import INSTRUMENTS
from rules.register import By, Clause, clauses

SEEN_TO_BY: Final = {By.CODE: "The controller", By.OPERATOR: "People", By.NOT_APPLICABLE: "Nobody: it asks nothing"}

router = APIRouter(include_in_schema=False)


@router.get("/rules")
async def instruments(visit: Visiting) -> HTMLResponse:
    """The instruments, and how many of their clauses the controller sees to."""
    played = {visit.services.state(name).instrument for name in visit.services.jackpots}
    counted = [
        (one, Counter(clause.by for clause in clauses(one.id)), one.id in played) for one in INSTRUMENTS.values()
    ]
    return visit.show("console/rules.html", instruments=counted, by=By)


@router.get("/rules/{instrument}")
async def instrument(
    visit: Visiting,
    instrument: str,
    words: Annotated[str, Query(alias="q", max_length=200)] = "",
    by: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """One instrument, as far as its clauses have these words and are seen to by these."""
    if instrument not in INSTRUMENTS:
        raise Problem(404, "unknown_instrument", f"there is no instrument {instrument!r}")
    every = clauses(instrument)
    chosen = [clause for clause in every if by in ("", clause.by.value) and _has(clause, words.split())]
    return visit.show(
        "console/instrument.html",
        instrument=INSTRUMENTS[instrument],
        clauses=chosen,
        total=len(every),
        words=words,
        by=by,
        seen_to_by=SEEN_TO_BY,
    )


def _has(clause: Clause, words: list[str]) -> bool:
    """Whether a clause has all these words, in its number, what it asks, or how it is seen to."""
    text = " ".join((clause.number, clause.asks, clause.control, clause.reason, *clause.where)).casefold()
    return all(word.casefold() in text for word in words)
