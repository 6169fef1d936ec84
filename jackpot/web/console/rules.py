"""The rules pages: each clause of an instrument, who handles it, where, and the tests that prove it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.web.console.layout import Context
from jackpot.web.problems import Problem
from rules import INSTRUMENTS
from rules.register import By, Clause, clauses

HANDLED_BY: Final = {By.CODE: "The controller", By.OPERATOR: "Staff", By.NOT_APPLICABLE: "No action needed"}

router = APIRouter(include_in_schema=False)


@router.get("/rules")
async def instruments(context: Context) -> HTMLResponse:
    """Show the instruments, and how many of their clauses the controller handles."""
    played = {context.services.state(name).instrument for name in context.services.jackpots}
    counted = [
        (one, Counter(clause.by for clause in clauses(one.id)), one.id in played) for one in INSTRUMENTS.values()
    ]
    return context.render("console/rules.html", instruments=counted, by=By)


@router.get("/rules/{instrument}")
async def instrument(
    context: Context,
    instrument: str,
    words: Annotated[str, Query(alias="q", max_length=200)] = "",
    by: Annotated[str, Query(max_length=40)] = "",
) -> HTMLResponse:
    """Show the clauses of one instrument that contain these words and are handled by this party."""
    if instrument not in INSTRUMENTS:
        raise Problem(404, "unknown_instrument", f"there is no instrument {instrument!r}")
    every = clauses(instrument)
    chosen = [clause for clause in every if by in ("", clause.by.value) and _contains(clause, words.split())]
    return context.render(
        "console/instrument.html",
        instrument=INSTRUMENTS[instrument],
        clauses=chosen,
        total=len(every),
        words=words,
        by=by,
        handled_by=HANDLED_BY,
    )


def _contains(clause: Clause, words: list[str]) -> bool:
    """Return True if a clause contains all these words in its number, text, control or reason."""
    text = " ".join((clause.number, clause.asks, clause.control, clause.reason, *clause.where)).casefold()
    return all(word.casefold() in text for word in words)
