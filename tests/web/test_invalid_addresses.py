"""Every page of the console with invalid values in its address: the answer is always a page, never a failure."""

from urllib.parse import quote, urlencode

import httpx
import pytest

from jackpot.web.authentication import FEED
from jackpot.web.console.layout import SECTIONS
from jackpot.web.server import PAGES
from tests.support import postgres
from tests.support.console_site import FLUSH, ConsoleSite
from tests.support.daemon import LIMIT_SECONDS

INVALID = (
    "", " ", "0", "-1", "9" * 5_000, "-" + "9" * 5_000, "1e400", "NaN", "0.5", "$1,2", "x", "t99", "\x00", "a\x00b",
    "\r\n\t", "\x1b[31m", "\x7f", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xff\xfe", "\ufffe", "😀" * 200, "<h1>",
    "'\"--;", "..", "%", "{{ 7 }}", "2026-1-5", "2026-01-05 ", "20260105", "2026-W01-1", "٢٠٢٦-01-05", "٣",
    "0000-00-00", "0001-01-01", "0001-01-03", "9999-12-31", "9999-12-29", "99999-01-01", "2026-02-30",
    "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59",
    "2026-01-05T25:00", "2026-01-05T10:00+99:99",
)  # fmt: skip
"""Values that are invalid for most parameters."""
VALID = {"table": "t1", "number": "1", "instrument": "canberra-poker-2016"}
"""Valid values of the parameters in paths."""
PARTS = ("/pools/figures", "/devices/now", "/operators/waiting")
"""Paths that answer with a part of a page, which polls them."""
ROUTES = {route.path: route for place in PAGES for route in place.router.routes if route.path != FEED}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def client(request, mosquitto_port, tmp_path_factory):
    """An HTTP client that requests pages as a manager's browser does, for a site on each kind of store."""
    if request.param == "sqlite":
        yield from clients(mosquitto_port, tmp_path_factory.mktemp("odd"))
    else:
        with postgres.server() as url:
            yield from clients(mosquitto_port, tmp_path_factory.mktemp("odd"), database=url)


def clients(mosquitto_port, folder, **options):
    console_site = ConsoleSite(folder, mosquitto_port, tables=2, TIMEZONE="Australia/Sydney", **options)
    console_site.play("t1", 1, b1=FLUSH, b2=None)
    headers = {"Accept": "text/html", "Authorization": f"Bearer {console_site.tokens['manager']}"}
    try:
        with httpx.Client(
            base_url=console_site.address, headers=headers, timeout=LIMIT_SECONDS, follow_redirects=True
        ) as client:
            yield client
    finally:
        console_site.close()


def addresses(route):
    """Yield the page's address with each invalid value in each parameter, alone and repeated."""
    for invalid in INVALID:
        for name in route.param_convertors:
            yield route.path.format(**{**VALID, name: quote(invalid, safe="")})
        path = route.path.format(**VALID)
        for name in ("jackpot", *(parameter.alias for parameter in route.dependant.query_params)):
            yield f"{path}?{urlencode({name: invalid})}"
            yield f"{path}?{urlencode([(name, '1'), (name, invalid), (name, invalid)])}"


def is_page(answer):
    """Return True if an answer is a console page, with its style sheet and one heading."""
    style, text = '<link rel="stylesheet" href="/static/console.css">', answer.text
    return answer.headers["Content-Type"] == "text/html; charset=utf-8" and style in text and text.count("<h1") == 1


@pytest.mark.parametrize("path", ROUTES)
def test_an_invalid_address_is_answered_with_a_page(client, path):
    for address in addresses(ROUTES[path]):
        answer = client.get(address)
        assert answer.status_code in (200, 404, 422), address[:200]
        is_part = answer.status_code == 200 and path in PARTS
        assert is_part or is_page(answer), address[:200]


def test_every_section_of_the_console_is_tested():
    assert {path for path, _ in SECTIONS} <= set(ROUTES)
    assert all(route.methods == {"GET"} for route in ROUTES.values())
