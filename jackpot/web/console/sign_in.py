"""The sign-in page, which needs no session and shows no data."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from jackpot.web.services import services_of
from jackpot.web.templates import page

OWN_PATH: Final = re.compile(r"/(?!/)[^\\\x00-\x1f\x7f]*")
"""A path on this host: browsers treat a backslash as a slash and drop tabs and line ends."""

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def sign_in(request: Request, ended: str = "", next: str = "/") -> HTMLResponse:  # noqa: A002 - the parameter's name in the address
    """Ask for the operator's token."""
    back = next if OWN_PATH.fullmatch(next) else "/"
    return page(
        "console/sign_in.html",
        ended=bool(ended),
        back=back,
        site=services_of(request).name,
        version=request.app.version,
    )
