"""No secret is in a log or in the store: no token, no session id, no CSRF token, no idempotency key."""

from pathlib import Path

from tests.support.api_client import Browser


def test_no_secret_is_logged_or_stored(own_api):
    api = own_api
    secrets = dict(api.tokens)
    added = api.post("/operators", {"name": "bea", "role": "supervisor"}, key="idempotency key of bea")
    secrets["added"] = added["token"]
    secrets["proposed"] = api.post("/operators/moe/propose")["half"]
    secrets["approved"] = api.post("/operators/moe/approve", {}, "second", "k2")["half"]
    browser = Browser(api, secrets["added"])
    secrets |= {"session": browser.client.cookies["jackpot-session"], "csrf": browser.csrf}
    assert browser.post("/tables/t1/resume", {}).status_code == 409
    renewed = browser.post("/operators/bea/renew", {})
    secrets["renewed"] = renewed.json()["token"]
    other = Browser(api, secrets["renewed"])
    secrets |= {"other session": other.client.cookies["jackpot-session"], "other csrf": other.csrf}
    other.sign_out()
    nearly = secrets["renewed"][:-1] + "~"
    assert api.client(nearly).get("/api/v1/jackpots").status_code == 401
    secrets["wrong"] = nearly
    api.client().post("/api/v1/session", json={"token": nearly})
    api.client().post("/api/v1/session", content=f'{{"token": "{nearly}"')
    api.client().get(f"/api/v1/jackpots?token={nearly}")
    secrets["key"] = "idempotency key of bea"
    assert all(len(secret) > 20 for secret in secrets.values())

    assert api.site.stop() == 0
    kept = {path.name: path.read_bytes() for path in Path(api.site.folder).iterdir() if path.is_file()}
    assert {"serve.log", "jackpot.db"} <= set(kept)
    for name, secret in secrets.items():
        for file, content in kept.items():
            assert secret.encode() not in content, f"{name} is in {file}"
    assert api.site.verified()
