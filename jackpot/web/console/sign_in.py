"""Signing in and out; the page itself is open, and knows nothing."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from jackpot.web.services import services_of
from jackpot.web.templates import page

OWN_PATH: Final = re.compile(r"/(?!/)[^\\\x00-\x1f\x7f]*")
"""A path on this very host: browsers take a backslash for a slash, and leave out tabs and the ends of lines."""

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def sign_in(request: Request, ended: str = "", next: str = "/") -> HTMLResponse:  # noqa: A002 - the word in the address
    """Ask for the operator's token."""
    back = next if OWN_PATH.fullmatch(next) else "/"
    return page(
        "console/sign_in.html",
        ended=bool(ended),
        back=back,
        site=services_of(request).name,
        version=request.app.version,
    )
