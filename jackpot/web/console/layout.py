"""The layout of every console page: the signed-in operator, the navigation, and the figures at the top."""

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

SECTIONS: Final = (
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


class NotSignedIn(Exception):  # noqa: N818 - leads to the sign-in page, not a failure
    """The request has no valid session; `ended` is True if it had one before."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__("not signed in")
        self.ended = ended


class PageContext:
    """The context of one page request: the caller, the services, and the selected jackpot."""

    def __init__(self, request: Request, caller: Caller) -> None:
        self._request = request
        self._selected: str | None = None
        self.caller = caller
        self.services: WebServices = services_of(request)
        self.live: LiveView = request.app.state.live_view

    @property
    def live_feed(self) -> SseFeed:
        """The feed of live fragments."""
        feed: SseFeed = self._request.app.state.sse_feed
        return feed

    def is_session_valid(self) -> bool:
        """Return True if the caller's session is still valid."""
        authenticator: Authenticator = self._request.app.state.authenticator
        return authenticator.is_still_valid(self.caller)

    def select_jackpot(self, jackpot: str) -> None:
        """Select the jackpot that this page belongs to, whichever the query names."""
        self._selected = self.services.service(jackpot).id

    @property
    def jackpot(self) -> str:
        """The selected jackpot: the page's own, the one that the query names, or the first."""
        name = self._selected or self._request.query_params.get("jackpot")
        if name is not None:
            return self.services.service(name).id
        if not self.services.jackpots:
            raise Problem(404, "no_jackpot", "this site has no jackpot yet: create one with jackpot init")
        return min(self.services.jackpots)

    @property
    def view(self) -> JackpotView:
        """The live view of the selected jackpot."""
        return self.live.views[self.jackpot]

    @property
    def _switch_path(self) -> str:
        """The path that shows another jackpot: this page, or its section if the page belongs to one jackpot."""
        if self._selected is None:
            return ""
        section = _section(self._request.url.path)
        return section if section in dict(SECTIONS) else "/"

    def render(self, template: str, /, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - depends on the page
        """Return a page in the layout."""
        session, operator = self.caller.session, self.caller.operator
        return page(
            template,
            status,
            operator=operator,
            csrf=session.csrf if session else "",
            sections=SECTIONS,
            section=_section(self._request.url.path),
            jackpot=self.jackpot if self.services.jackpots else None,
            jackpots=sorted(self.services.jackpots),
            switch_path=self._switch_path,
            bar=bar(self.view) if self.services.jackpots else "",
            version=self._request.app.version,
            site=self.services.name,
            zone=self.services.zone,
            **values,
        )


async def page_context(request: Request) -> PageContext:
    """Return the context of a request, or raise NotSignedIn."""
    authenticator: Authenticator = request.app.state.authenticator
    try:
        return PageContext(request, await authenticator.authenticate(request))
    except Problem as problem:
        if problem.status != 401:
            raise
        raise NotSignedIn(ended=problem.code == "session_ended") from None


Context = Annotated[PageContext, Depends(page_context)]


async def redirect_to_sign_in(request: Request, error: Exception) -> Response:
    """Redirect to the sign-in page, which leads back; answer 401 to a feed."""
    path = request.url.path
    ended = isinstance(error, NotSignedIn) and error.ended
    if path == FEED:  # a script reads this answer, not a person
        code = "session_ended" if ended else "unauthenticated"
        return problems.problem_response(401, code, "this feed needs a session: sign in first")
    query = f"?{request.url.query}" if request.url.query else ""
    back = "" if (path, query) == ("/", "") else f"&next={quote(path + query, safe='')}"
    return RedirectResponse(f"/sign-in?{'ended=1' if ended else ''}{back}".replace("?&", "?").rstrip("?"), 303)


def _section(path: str) -> str:
    """Return the section of the console that a path belongs to."""
    first = path.split("/")[1]
    return f"/{first}"
