"""Every failure is a problem document with the proper HTTP status and headers."""

import socket
import sqlite3
from contextlib import closing

import pytest

from jackpot.web.api_guard import MAX_BYTES
from tests.support.api_client import FLUSH, problem
from tests.support.daemon import LIMIT_SECONDS


@pytest.mark.parametrize("path", ["/nothing", "/api/v1/nothing", "/api/v1/rounds/t1", "/docs", "/redoc", "/.git"])
def test_an_unknown_path_is_not_found(api, path):
    answer = api.client(api.tokens["manager"]).get(path)
    assert (answer.status_code, problem(answer)["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/configs", "GET, POST"),
        ("GET", "/configs/main/1/approve", "POST"),
        ("PUT", "/session", "DELETE, GET, POST"),
        ("PATCH", "/jackpots", "GET"),
        ("POST", "/operators/proposals", "GET"),
        ("OPTIONS", "/tables", "GET, POST"),
    ],
)
def test_a_wrong_method_gets_the_allowed_methods(api, method, path, allowed):
    answer = api.request(method, path)
    assert (answer.status_code, problem(answer)["code"]) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize(
    "path",
    ["/jackpots/none", "/jackpots/none/meter", "/jackpots/none/history", "/tables/none", "/rounds/none/1",
     "/rounds/t1/999", "/rounds?jackpot=none", "/audit?chain=none", "/configs?jackpot=none",
     "/audit/verify?chain=none", "/reports/daily?day=9999-12-31"],
)  # fmt: skip
def test_unknown_ids_are_not_found(api, path):
    answer = api.request("GET", path)
    assert answer.status_code == 404
    problem(answer)


@pytest.mark.parametrize(
    "path",
    ["/rounds?limit=0", "/rounds?limit=1001", "/rounds?before=0", "/rounds?before=x", "/rounds?outcome=lost",
     "/rounds?table=a%20b", "/rounds/t1/0", "/rounds/t1/99999999999999999999", "/audit?since=yesterday",
     "/audit?until=2026-13-01", "/reports/daily?day=0", "/reports/daily?day=2026-02-30", "/reports/daily?format=pdf",
     "/jackpots/main/history?hours=0", "/jackpots/main/history?hours=100000", "/odds?jackpot_bps=10001",
     "/reports/daily?day=2026-1-5", "/reports/daily?day=20260105", "/reports/daily?day=2026-W01-1",
     "/reports/daily?day=%D9%A2%D9%A0%D9%A2%D9%A6-01-05", "/reports/daily?day=2026-01-05%0A",
     "/audit?until=9999-12-31T23:59:59-12:00", "/wins?status=lost", "/audit?actor=%00", "/jackpots/a%2Fb%00"],
)  # fmt: skip
def test_invalid_parameters_are_refused(api, path):
    answer = api.request("GET", path)
    assert answer.status_code in (404, 422)
    problem(answer)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"note": 3}', b'{"note": "x", "more": 1}', b"\xff\xfe", b"[" * 60_000,
     b'{"note": "a\\u0000b"}', b'{"note": "half \\ud800 of a pair"}'],
)  # fmt: skip
def test_an_invalid_body_is_refused(api, body):
    headers = {"Content-Type": "application/json"}
    answer = api.client(api.tokens["manager"]).post("/api/v1/tables/t1/resume", content=body, headers=headers)
    assert answer.status_code == 422
    assert problem(answer)["code"] == "malformed"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_json_is_an_unsupported_media_type(api, kind):
    answer = api.client(api.tokens["manager"]).post(
        "/api/v1/tables/t1/resume", content=b'{"note": ""}', headers={"Content-Type": kind}
    )
    assert (answer.status_code, problem(answer)["code"]) == (415, "unsupported_media_type")


def test_a_body_that_is_too_large_is_refused_with_and_without_content_length(api):
    headers = {"Content-Type": "application/json"}
    client = api.client(api.tokens["manager"])
    for content in (b"x" * (MAX_BYTES + 1), iter([b"x" * 10_000] * 20)):
        answer = client.post("/api/v1/tables/t1/resume", content=content, headers=headers)
        assert (answer.status_code, problem(answer)["code"]) == (413, "too_large")


def test_a_body_that_does_not_arrive_is_refused_after_a_time_limit(api):
    head = (
        "POST /api/v1/tables/t1/resume HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {api.tokens['manager']}\r\nContent-Length: 100\r\n\r\n{{"
    )
    with socket.create_connection(("127.0.0.1", api.site.http)) as slow:
        slow.sendall(head.encode())
        slow.settimeout(LIMIT_SECONDS)
        assert slow.recv(4096).startswith(b"HTTP/1.1 408 ")


def test_an_unexpected_failure_is_answered_logged_and_counted(own_api):
    own_api.settle("t1", own_api.play("t1", {3: FLUSH}))
    with closing(sqlite3.connect(own_api.site.database.removeprefix("sqlite:///"), isolation_level=None)) as store:
        store.execute("UPDATE payouts SET status = 'odd'")
    errors = 'jackpot_errors_total{jackpot="site",part="web"}'
    assert own_api.site.metric(errors) == 0
    answer = own_api.request("GET", "/wins")
    assert (answer.status_code, problem(answer)["code"]) == (500, "internal")
    assert own_api.site.metric(errors) == 1
    assert '"request failed"' in own_api.site.log


def test_responses_of_the_api_are_not_cached(api):
    for path in ("/api/v1/jackpots", "/api/v1/nothing", "/openapi.json"):
        assert api.client(api.tokens["auditor"]).get(path).headers["Cache-Control"] == "no-store"


def test_a_conflict_names_the_present_state(api):
    answer = api.act("/rounds/t1/7/confirm")
    assert (answer.status_code, problem(answer)["code"]) == (409, "wrong_round")
    assert "has not played a round yet" in answer.json()["detail"]


def test_refused_requests_log_no_error(api):
    assert '"level": "error"' not in api.site.log
    assert "Traceback" not in api.site.log
