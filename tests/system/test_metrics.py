"""Metrics of a real daemon: on their own port, from the first moment, and correct after a restart."""

import time
import urllib.error
import urllib.request

import pytest

from tests.support.certificates import tls_broker
from tests.support.daemon import LIMIT_SECONDS, takes_connections, wait_until

EVERYTHING = ("tables/#", "jackpots/#")
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
STRAIGHT_FLUSH = ["9s", "8s", "7s", "6s", "5s"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
HANDS = ("royal_flush", "straight_flush", "flush")
FROM_ZERO = [
    'jackpot_errors_total{jackpot="main",part="store"}',
    'jackpot_errors_total{jackpot="main",part="command"}',
    'jackpot_errors_total{jackpot="site",part="web"}',
    'jackpot_malfunctions_total{cause="display",jackpot="main"}',
    'jackpot_malformed_messages_total{jackpot="main",kind="wager"}',
    'jackpot_rounds_total{jackpot="main",outcome="void"}',
    'jackpot_untaken_messages_total{jackpot="main"}',
    'jackpot_webhook_notices_total{outcome="given_up"}',
    'jackpot_broker_certificate_expiry_timestamp_seconds{jackpot="main"}',
    'jackpot_store_failing{jackpot="main"}',
    'jackpot_pending_age_seconds{jackpot="main"}',
]


def samples(site):
    """Return every sample by its name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{site.metrics}/metrics", timeout=LIMIT_SECONDS) as reply:
        lines = [line for line in reply.read().decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_metrics_have_their_own_port_and_counters_begin_at_zero(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    site.start()
    found = samples(site)
    assert {name: found.get(name) for name in FROM_ZERO} == dict.fromkeys(FROM_ZERO, 0)
    assert [name for name in found if name.startswith("jackpot_build_info{version=")]
    assert not [name for name in found if "_created" in name]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{site.http}/metrics", timeout=LIMIT_SECONDS)


def test_the_head_of_every_chain_is_measured_even_if_another_process_wrote_it(new_site, mosquitto_port):
    site = new_site(mosquitto_port, VERIFY_MINUTES=0.005)
    site.start()
    assert site.act("operators", {"name": "ada", "role": "auditor"})[0] == 200
    site.answer("operator", "add", "ben", "--role", "auditor", "--token", site.tokens[0])  # from another process
    for chain in ("main", "site"):
        for name in ("jackpot_audit_seq", "jackpot_audit_verified_seq"):
            metric = f'{name}{{jackpot="{chain}"}}'
            wait_until(lambda c=chain, m=metric: site.metric(m) == site.head(c) > 0, f"{metric} to be the head")


def test_without_an_address_there_are_no_metrics(new_site, mosquitto_port):
    site = new_site(mosquitto_port, METRICS="")
    site.start()
    assert not takes_connections(site.metrics)


def test_the_age_of_a_pending_win_continues_through_a_restart(new_site, new_client, mosquitto_port):
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, *EVERYTHING)
    site.start()
    began = time.time()
    client.play("t1", 1, ROYAL)
    played = time.time()
    age = 'jackpot_pending_age_seconds{jackpot="main"}'
    wait_until(lambda: site.metric(age) > 1, "the age of the win")
    assert site.metric('jackpot_pending_rounds{jackpot="main"}') == 1
    site.kill()
    site.start()
    least = time.time() - played
    assert least - 1 < site.metric(age) < time.time() - began + 1
    assert site.act("rounds/t1/1/confirm")[0] == 200
    wait_until(lambda: site.metric(age) == 0, "no pending win")
    assert site.metric('jackpot_pending_rounds{jackpot="main"}') == 0


def test_a_prize_counts_once_when_its_round_ends_and_a_void_one_does_not_count(new_site, new_client, mosquitto_port):
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, *EVERYTHING)
    site.start()

    def play(table, number, **hands):
        client.command(table, f"open-{number}", "open_round")
        for box in hands:
            client.wager(table, int(box[1:]), f"w{number}", number)
        client.command(table, f"close-{number}", "close_wagers", round=number)
        for box, cards in hands.items():
            client.command(table, f"{box}-{number}", "declare", round=number, box=int(box[1:]), cards=cards)
        payouts = client.command(table, f"settle-{number}", "settle", round=number)["payouts"]
        return {payout["hand"]: payout["amount_cents"] for payout in payouts}

    def counted():
        prizes = {hand: site.metric(f'jackpot_payouts_total{{hand="{hand}"') for hand in HANDS}
        cents = {hand: site.metric(f'jackpot_payout_cents_total{{hand="{hand}"') for hand in HANDS}
        return {hand: (count, cents[hand]) for hand, count in prizes.items() if count}

    flush = play("t1", 1, b3=FLUSH)["flush"]
    wait_until(lambda: counted() == {"flush": (1, flush)}, "a prize that is paid at once")
    play("t1", 2, b2=FLUSH, b3=ROYAL)
    play("t2", 1, b3=ROYAL)
    royal = play("t3", 1, b1=FLUSH, b3=ROYAL)["royal_flush"]
    site.kill()
    site.start()  # counters begin at zero, and pending prizes are loaded
    assert site.act("rounds/t1/2/correct", {"hands": {"3": STRAIGHT_FLUSH}, "reason": "a test"})[0] == 200
    assert site.act("rounds/t2/1/void", {"reason": "a test"})[0] == 200
    assert counted() == {}
    (prize,) = site.act("rounds/t1/2/confirm")[1]["payouts"]
    once = {"flush": (1, flush), "straight_flush": (1, prize["amount_cents"])}
    wait_until(lambda: counted() == once, "the prizes of the round")
    assert site.act("rounds/t3/1/confirm")[0] == 200
    expected = {**once, "flush": (2, 2 * flush), "royal_flush": (1, royal)}
    wait_until(lambda: counted() == expected, "the prizes of another")
    play("t2", 2, b3=ROYAL)
    assert site.act("rounds/t2/2/correct", {"hands": {"3": None}, "reason": "a test"})[0] == 200  # this ends the round
    play("t2", 3, b1=FLUSH)
    wait_until(lambda: counted() == {**expected, "flush": (3, 3 * flush)}, "the next prize")


def test_the_expiry_of_the_brokers_certificate_is_measured(new_site, tmp_path):
    with tls_broker(tmp_path, days=90) as (port, authority):
        site = new_site(port, BROKER=f"mqtts://localhost:{port}", BROKER_CA_FILE=authority)
        site.start()
        ends = site.metric("jackpot_broker_certificate_expiry_timestamp_seconds")
        assert 89 * 86_400 < ends - time.time() < 91 * 86_400
