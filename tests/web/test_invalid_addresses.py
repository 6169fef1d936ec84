"""Every page of the console, asked for in odd ways: the controller never fails, and what is answered is a page."""

from urllib.parse import quote, urlencode

import httpx
import pytest

from jackpot.web.authentication import FEED
from jackpot.web.console.layout import PLACES
from jackpot.web.server import PAGES
from tests.support import postgres
from tests.support.console_site import FLUSH, House
from tests.support.daemon import LIMIT_SECONDS

ODD = (
    "", " ", "0", "-1", "9" * 5_000, "-" + "9" * 5_000, "1e400", "NaN", "0.5", "$1,2", "x", "t99", "\x00", "a\x00b",
    "\r\n\t", "\x1b[31m", "\x7f", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xff\xfe", "\ufffe", "😀" * 200, "<h1>",
    "'\"--;", "..", "%", "{{ 7 }}", "2026-1-5", "2026-01-05 ", "20260105", "2026-W01-1", "٢٠٢٦-01-05", "٣",
    "0000-00-00", "0001-01-01", "0001-01-03", "9999-12-31", "9999-12-29", "99999-01-01", "2026-02-30",
    "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59",
    "2026-01-05T25:00", "2026-01-05T10:00+99:99",
)  # fmt: skip
"""What nobody means to write into an address."""
KNOWN = {"table": "t1", "number": "1", "instrument": "canberra-poker-2016"}
"""What there is, by the name that it has in a page's path."""
PARTS = ("/pools/figures", "/devices/now", "/operators/waiting")
"""What a page asks for by itself, to put it in its place."""
ROUTES = {route.path: route for place in PAGES for route in place.router.routes if route.path != FEED}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def visitor(request, mosquitto_port, tmp_path_factory):
    """A program that asks for pages as a manager's browser does, of a site on each kind of store."""
    if request.param == "sqlite":
        yield from visits(mosquitto_port, tmp_path_factory.mktemp("odd"))
    else:
        with postgres.server() as url:
            yield from visits(mosquitto_port, tmp_path_factory.mktemp("odd"), database=url)


def visits(mosquitto_port, folder, **options):
    house = House(folder, mosquitto_port, tables=2, TIMEZONE="Australia/Sydney", **options)
    house.play("t1", 1, b1=FLUSH, b2=None)
    headers = {"Accept": "text/html", "Authorization": f"Bearer {house.tokens['manager']}"}
    try:
        with httpx.Client(
            base_url=house.address, headers=headers, timeout=LIMIT_SECONDS, follow_redirects=True
        ) as client:
            yield client
    finally:
        house.close()


def addresses(route):
    """The page's address with each odd value in each place of it: alone, and where another is said as well."""
    for odd in ODD:
        for name in route.param_convertors:
            yield route.path.format(**{**KNOWN, name: quote(odd, safe="")})
        path = route.path.format(**KNOWN)
        for name in ("jackpot", *(asked.alias for asked in route.dependant.query_params)):
            yield f"{path}?{urlencode({name: odd})}"
            yield f"{path}?{urlencode([(name, '1'), (name, odd), (name, odd)])}"


def is_designed(answer):
    """Whether an answer is a page of ours, with its style and its one heading."""
    style, text = '<link rel="stylesheet" href="/static/console.css">', answer.text
    return answer.headers["Content-Type"] == "text/html; charset=utf-8" and style in text and text.count("<h1") == 1


@pytest.mark.parametrize("path", ROUTES)
def test_a_page_that_is_asked_for_in_an_odd_way_is_a_page(visitor, path):
    for address in addresses(ROUTES[path]):
        answer = visitor.get(address)
        assert answer.status_code in (200, 404, 422), address[:200]
        is_part = answer.status_code == 200 and path in PARTS
        assert is_part or is_designed(answer), address[:200]


def test_no_place_of_the_console_is_left_out():
    assert {path for path, _ in PLACES} <= set(ROUTES)
    assert all(route.methods == {"GET"} for route in ROUTES.values())
