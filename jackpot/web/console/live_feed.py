"""The console's feed of live fragments; it ends with the operator's session."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from jackpot.web.authentication import FEED
from jackpot.web.console.fragments import KINDS
from jackpot.web.console.layout import Context
from jackpot.web.sse import SseFeed

router = APIRouter(include_in_schema=False)


@router.get(FEED)
async def feed(context: Context, last_event_id: Annotated[str | None, Header(max_length=100)] = None) -> Response:
    """Stream the fragments of the selected jackpot."""
    source: SseFeed = context.live_feed
    return source.stream(context.view, KINDS, last_event_id, context.is_session_valid)
