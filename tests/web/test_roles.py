"""Every path with every role: a lesser role is refused, and nothing is answered without authentication."""

import json

import pytest

from tests.support.api_client import ROLES, problem

OPEN = {("POST", "/api/v1/session")}
IDS = {"table": "t1", "number": "1", "jackpot": "main", "name": "unknown"}


@pytest.fixture(scope="module")
def document(api):
    answer = api.client(api.tokens["auditor"]).get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def operations(document):
    return [
        (method.upper(), path, operation)
        for path, found in document["paths"].items()
        for method, operation in found.items()
    ]


def filled(path):
    for name, value in IDS.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, path
    return path.removeprefix("/api/v1")


def test_every_path_declares_its_role_and_its_security_schemes(document):
    for method, path, operation in operations(document):
        if (method, path) in OPEN:
            assert operation["security"] == []
        else:
            assert operation["x-role"] in ROLES, (method, path)
            assert operation["x-role"] in operation["description"]
            assert operation["security"] == [{"token": []}, {"session": []}]
    assert set(document["components"]["securitySchemes"]) == {"token", "session"}


def test_supervisors_act_at_tables_auditors_renew_their_token_and_read(document):
    acts = {(path, operation["x-role"]) for method, path, operation in operations(document) if "x-role" in operation
            and method == "POST"}  # fmt: skip
    supervisors = {path for path, role in acts if role == "supervisor"}
    assert supervisors == {
        *(
            f"/api/v1/rounds/{{table}}/{{number}}/{act}"
            for act in ("confirm", "correct", "void", "close", "fold", "unfold", "declare", "settle")
        ),
        "/api/v1/tables/{table}/resume",
    }
    assert {path for path, role in acts if role == "auditor"} == {"/api/v1/operators/{name}/renew"}
    reads = {path: operation["x-role"] for method, path, operation in operations(document) if method == "GET"}
    assert set(reads.values()) == {"auditor"}


@pytest.mark.parametrize("role", ROLES)
def test_every_path_is_refused_to_lesser_roles_only(api, document, role):
    for method, path, operation in operations(document):
        if (method, path) in OPEN or method == "DELETE":
            continue
        answer = api.request(method, filled(path), role, {} if method == "POST" else None)
        if ROLES.index(role) < ROLES.index(operation["x-role"]):
            assert (answer.status_code, problem(answer)["code"]) == (403, "forbidden"), (method, path)
            assert api.names[role] in answer.json()["detail"]
        elif "/renew" not in path:
            assert answer.status_code != 403 or answer.json()["code"] == "same_person", (method, path, answer.text)
        assert answer.status_code < 500, (method, path, answer.text)


@pytest.mark.parametrize("body", [b"{}", b"", b"no JSON", b"\xff"])
def test_every_path_is_refused_without_authentication(api, document, body):
    with api.client() as client:
        for method, path, _ in operations(document):
            if (method, path) in OPEN:
                continue
            headers = {"Content-Type": "application/json"}
            answer = client.request(method, f"/api/v1{filled(path)}", content=body, headers=headers)
            assert (answer.status_code, problem(answer)["code"]) == (401, "unauthenticated"), (method, path)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for path in ("/openapi.json", "/api/v1/nothing", "/api/", "/api/v1/rounds/t1"):
            assert client.get(path).status_code == 401, path


def test_other_authorization_schemes_are_refused(api):
    for scheme in ("Basic bWF4Om1heA==", "Bearer", "Token abc"):
        with api.client(Authorization=scheme) as client:
            answer = client.get("/api/v1/jackpots")
            assert (answer.status_code, problem(answer)["code"]) == (401, "unauthenticated"), scheme


def test_refused_requests_write_nothing_to_the_trail(api):
    refused = [e for e in api.get("/audit?limit=1000")["rows"] if e["actor"] in ("ada", "sue")]
    assert refused == []
    site = [e for e in api.get("/audit?chain=site&limit=1000")["rows"] if e["actor"] in ("ada", "sue")]
    assert [json.loads(e["data"]) for e in site] == []
