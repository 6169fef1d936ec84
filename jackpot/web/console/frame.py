"""What every page of the console stands in: who is signed in, the way around, and the figures at the top."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from jackpot.web import problems
from jackpot.web.console.fragments import bar
from jackpot.web.door import FEED, Caller, Door
from jackpot.web.feed import Feed
from jackpot.web.floor import Floor, floor_of
from jackpot.web.live import Board, Live
from jackpot.web.pages import page
from jackpot.web.problems import Problem

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
    """One look at a page: by whom, on which floor."""

    def __init__(self, request: Request, caller: Caller) -> None:
        self._request = request
        self._looked_at: str | None = None
        self.caller = caller
        self.floor: Floor = floor_of(request)
        self.live: Live = request.app.state.live

    @property
    def live_feed(self) -> Feed:
        """Everyone who is fed."""
        feed: Feed = self._request.app.state.feed
        return feed

    def is_still_welcome(self) -> bool:
        """Whether this visitor would be let in now."""
        door: Door = self._request.app.state.door
        return door.still_admits(self.caller)

    def look_at(self, jackpot: str) -> None:
        """Look at the jackpot that this page is about, whichever is asked for."""
        self._looked_at = self.floor.desk(jackpot).id

    @property
    def jackpot(self) -> str:
        """The jackpot that is looked at: the page's own, the one that is asked for, or the first."""
        asked = self._looked_at or self._request.query_params.get("jackpot")
        if asked is not None:
            return self.floor.desk(asked).id
        if not self.floor.desks:
            raise Problem(404, "no_jackpot", "this site has no jackpot yet: make one with jackpot init")
        return min(self.floor.desks)

    @property
    def board(self) -> Board:
        """What is live of it."""
        return self.live.boards[self.jackpot]

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
            jackpot=self.jackpot if self.floor.desks else None,
            jackpots=sorted(self.floor.desks),
            elsewhere=self._elsewhere,
            bar=bar(self.board) if self.floor.desks else "",
            version=self._request.app.version,
            site=self.floor.name,
            zone=self.floor.zone,
            **values,
        )


async def visit_by(request: Request) -> Visit:
    """The visit of whoever is signed in."""
    door: Door = request.app.state.door
    try:
        return Visit(request, await door.admit(request))
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
        return problems.answer(401, code, "this feed is for whoever is signed in: sign in first")
    query = f"?{request.url.query}" if request.url.query else ""
    back = "" if (path, query) == ("/", "") else f"&next={quote(path + query, safe='')}"
    return RedirectResponse(f"/sign-in?{'ended=1' if ended else ''}{back}".replace("?&", "?").rstrip("?"), 303)


def _place(path: str) -> str:
    """The place of the console that a path belongs to."""
    first = path.split("/")[1]
    return f"/{first}"
