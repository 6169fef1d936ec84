"""The meter display: a page for a screen near the table, and its feed; both need no sign-in."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from fastapi.responses import HTMLResponse
from starlette.responses import Response

from jackpot.web.live_view import JackpotView, LiveView, Subject
from jackpot.web.problems import Problem
from jackpot.web.sse import SseFeed
from jackpot.web.templates import page, rendered
from rules.instruments import find
from rules.odds import prize_table

KINDS: Final = ("meter", "wins", "prizes")
_EXAMPLES: Final = {
    "royal_flush": "A♠ K♠ Q♠ J♠ 10♠",
    "straight_flush": "9♥ 8♥ 7♥ 6♥ 5♥",
    "four_of_a_kind": "K♠ K♥ K♦ K♣ 4♠",
    "full_house": "Q♥ Q♣ Q♦ 8♠ 8♥",
    "flush": "K♦ J♦ 8♦ 5♦ 2♦",
    "dead_mans_hand": "A♠ A♣ 8♠ 8♣ Q♥",
}
"""An example hand of each prize."""

router = APIRouter(tags=["display"], include_in_schema=False)


def install(live: LiveView) -> None:
    """Add the fragment of prizes; the display shows it beside the meter and the wins."""
    live.add("prizes", prizes, (Subject.CONFIG,))


@router.get("/display/{jackpot}")
async def display(request: Request, jackpot: str) -> HTMLResponse:
    """Show the meter, full screen."""
    view = _views(request).get(jackpot)
    if view is None:
        return page("display_unknown.html", 404, jackpot=jackpot)
    game, _, title = find(view.jackpot.instrument).game.partition(", ")
    return page(
        "display.html",
        jackpot=jackpot,
        game=game,
        title=title.capitalize(),
        version=request.app.version,
        prizes=prizes(view),
    )


@router.get("/display/{jackpot}/feed")
async def feed(
    request: Request, jackpot: str, last_event_id: Annotated[str | None, Header(max_length=100)] = None
) -> Response:
    """Stream the meter, the wins and the prizes."""
    view = _views(request).get(jackpot)
    if view is None:
        raise Problem(404, "unknown_jackpot", f"this controller has no jackpot {jackpot!r}")
    sse_feed: SseFeed = request.app.state.sse_feed
    return sse_feed.stream(view, KINDS, last_event_id)


def prizes(view: JackpotView) -> str:
    """Return the instrument's prizes, and how the approved configuration funds them, as HTML."""
    return rendered("display_prizes.html", **_prizes(view))


def _prizes(view: JackpotView) -> dict[str, Any]:
    jackpot = view.jackpot
    table = prize_table(jackpot.instrument)
    shares = [
        {"hand": hand, "percent": percent, "least_cents": least, "cards": _cards(hand)}
        for hand, (percent, least) in table.percent.items()
    ]
    fixed = [{"hand": hand, "cents": cents, "cards": _cards(hand)} for hand, cents in table.fixed_cents.items()]
    return {
        "shares": shares,
        "fixed": fixed,
        "config": jackpot.config,
        "instrument": find(jackpot.instrument),
    }


def _cards(hand: str) -> list[tuple[str, str]]:
    """Return rank and suit of each card of the example."""
    return [(card[:-1], card[-1]) for card in _EXAMPLES[hand].split()]


def _views(request: Request) -> dict[str, JackpotView]:
    live_view: LiveView = request.app.state.live_view
    return live_view.views
