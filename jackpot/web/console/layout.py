"""What every page of the console stands in: who is signed in, the way around, and the figures at the top."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from jackpot.web import problems
from jackpot.web.authentication import FEED, Authenticator, Caller
from jackpot.web.console.fragments import bar
from jackpot.web.live_view import JackpotView, LiveView
from jackpot.web.problems import Problem
from jackpot.web.services import WebServices, services_of
from jackpot.web.sse import SseFeed
from jackpot.web.templates import page

PLACES: Final = (
    ("/", "Floor"),
    ("/wins", "Wins"),
    ("/rounds", "Rounds"),
    ("/pools", "Pools"),
    ("/audit", "Audit"),
    ("/reports", "Reports"),
    ("/changes", "Changes"),
    ("/operators", "Operators"),
    ("/devices", "Devices"),
    ("/odds", "Odds"),
    ("/rules", "Rules"),
)


class NotSignedIn(Exception):  # noqa: N818 - an answer, not an error of the program
    """Nobody is signed in; `ended` says whether somebody was."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__("nobody is signed in")
        self.ended = ended


class Visit:
    """One look at a page: by whom, on which services."""

    def __init__(self, request: Request, caller: Caller) -> None:
        self._request = request
        self._looked_at: str | None = None
        self.caller = caller
        self.services: WebServices = services_of(request)
        self.live: LiveView = request.app.state.live_view

    @property
    def live_feed(self) -> SseFeed:
        """Everyone who is fed."""
        feed: SseFeed = self._request.app.state.sse_feed
        return feed

    def is_still_welcome(self) -> bool:
        """Whether this visitor would be let in now."""
        authenticator: Authenticator = self._request.app.state.authenticator
        return authenticator.is_still_valid(self.caller)

    def look_at(self, jackpot: str) -> None:
        """Look at the jackpot that this page is about, whichever is asked for."""
        self._looked_at = self.services.service(jackpot).id

    @property
    def jackpot(self) -> str:
        """The jackpot that is looked at: the page's own, the one that is asked for, or the first."""
        asked = self._looked_at or self._request.query_params.get("jackpot")
        if asked is not None:
            return self.services.service(asked).id
        if not self.services.jackpots:
            raise Problem(404, "no_jackpot", "this site has no jackpot yet: make one with jackpot init")
        return min(self.services.jackpots)

    @property
    def board(self) -> JackpotView:
        """What is live of it."""
        return self.live.views[self.jackpot]

    @property
    def _elsewhere(self) -> str:
        """Where another jackpot is looked at: here, or the page's own place, where the page is of one jackpot alone."""
        if self._looked_at is None:
            return ""
        place = _place(self._request.url.path)
        return place if place in dict(PLACES) else "/"

    def show(self, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - each page's own
        """A page within the frame."""
        session, operator = self.caller.session, self.caller.operator
        return page(
            template,
            status,
            visitor=operator,
            csrf=session.csrf if session else "",
            places=PLACES,
            here=_place(self._request.url.path),
            jackpot=self.jackpot if self.services.jackpots else None,
            jackpots=sorted(self.services.jackpots),
            elsewhere=self._elsewhere,
            bar=bar(self.board) if self.services.jackpots else "",
            version=self._request.app.version,
            site=self.services.name,
            zone=self.services.zone,
            **values,
        )


async def visit_by(request: Request) -> Visit:
    """The visit of whoever is signed in."""
    authenticator: Authenticator = request.app.state.authenticator
    try:
        return Visit(request, await authenticator.authenticate(request))
    except Problem as problem:
        if problem.status != 401:
            raise
        raise NotSignedIn(ended=problem.code == "session_ended") from None


Visiting = Annotated[Visit, Depends(visit_by)]


async def to_sign_in(request: Request, error: Exception) -> Response:
    """Whoever is not signed in is sent to do so, and comes back."""
    path = request.url.path
    ended = isinstance(error, NotSignedIn) and error.ended
    if path == FEED:  # no person sees what is answered there
        code = "session_ended" if ended else "unauthenticated"
        return problems.problem_response(401, code, "this feed is for whoever is signed in: sign in first")
    query = f"?{request.url.query}" if request.url.query else ""
    back = "" if (path, query) == ("/", "") else f"&next={quote(path + query, safe='')}"
    return RedirectResponse(f"/sign-in?{'ended=1' if ended else ''}{back}".replace("?&", "?").rstrip("?"), 303)


def _place(path: str) -> str:
    """The place of the console that a path belongs to."""
    first = path.split("/")[1]
    return f"/{first}"
