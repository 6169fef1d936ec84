"""The console's feed: what is live on its pages, for whoever is signed in, and no longer than that."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from jackpot.web.authentication import FEED
from jackpot.web.console.fragments import KINDS
from jackpot.web.console.layout import Visiting
from jackpot.web.sse import SseFeed

router = APIRouter(include_in_schema=False)


@router.get(FEED)
async def feed(visit: Visiting, last_event_id: Annotated[str | None, Header(max_length=100)] = None) -> Response:
    """The bar, every table's card, and what waits."""
    fed: SseFeed = visit.live_feed
    return fed.stream(visit.board, KINDS, last_event_id, visit.is_still_welcome)
