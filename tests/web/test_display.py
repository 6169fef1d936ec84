"""The meter display in a real browser, against a running daemon."""

import itertools
import json
import time
from urllib.parse import urlsplit

import pytest

from jackpot.identity import software_version
from jackpot.web.formatting import money
from tests.support.browser import serious_findings, wait_for
from tests.support.daemon import Client, Site, wait_until
from tests.support.frame_timing import measured

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
LOST = {"net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONNECTION_RESET"}

RECORD = """
window.told = [];      // every value that the odometer was told to show
window.drawn = [];     // every value that its strips have stood at, frame by frame
window.frames = [];    // how long each frame took, while it rolled
addEventListener("DOMContentLoaded", () => {
  const odometer = document.getElementById("odometer");
  new MutationObserver(() => {
    const cents = Number(odometer.dataset.cents);
    if (told.at(-1) !== cents) told.push(cents);
  }).observe(odometer, { attributes: true });
  let last = performance.now();
  requestAnimationFrame(function frame(now) {
    if (odometer.dataset.rolling === "true") frames.push(now - last);
    last = now;
    const cents = shown();
    if (cents !== null && drawn.at(-1) !== cents) drawn.push(cents);
    requestAnimationFrame(frame);
  });
});
// The value that the strips stand at: whole digits, from the transform of each.
window.shown = () => {
  const strips = [...document.querySelectorAll("#odometer .strip")];
  if (!strips.length) return null;
  const digits = strips.map((s) => Math.floor((-parseFloat(s.style.transform.split(",")[1]) * 11) / 100 + 1e-3) % 10);
  return Number(digits.join(""));
};
"""


def opened(page, site):
    """The display of the site's jackpot, recording what it shows."""
    page.add_init_script(RECORD)
    page.goto(f"http://127.0.0.1:{site.http}/display/main")
    page.wait_for_selector("[data-state=live]")
    return page


@pytest.fixture
def display(floor, new_page):
    """A floor, and the display of its jackpot in a browser."""
    site, client = floor
    return site, client, opened(new_page(), site)


@pytest.fixture(scope="module")
def shared_floor(mosquitto_port, tmp_path_factory):
    """A floor for the tests at which nobody wins: whoever comes within half a minute sees a win celebrated."""
    site = Site(tmp_path_factory.mktemp("shared"), f"mqtt://127.0.0.1:{mosquitto_port}")
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    yield site, client
    client.close()
    site.kill()


@pytest.fixture
def shared(shared_floor, new_page):
    site, client = shared_floor
    return site, client, opened(new_page(), site)


class Table:
    """A dealer and pads at one table."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        self.number = wait_until(lambda: client.last(f"tables/{name}/state"), "the table's state")["round"]

    def open(self, boxes=range(1, 8)):
        self.number += 1
        self._ask("open_round")
        for box in boxes:
            self.client.wager(self.name, box, f"{self.name}-{self.number}-{box}", self.number)

    def settle(self, **hands):
        self._ask("close_wagers", round=self.number)
        for box, cards in hands.items():
            self._ask("declare", round=self.number, box=int(box[1:]), cards=cards)
        return self._ask("settle", round=self.number)["payouts"]

    def play(self, **hands):
        self.open()
        return self.settle(**hands)

    def void(self, box):
        return self._ask("void_hand", round=self.number, box=box, reason="a test")

    def _ask(self, kind, **fields):
        answer = self.client.command(self.name, f"{kind}-{time.monotonic_ns()}", kind, **fields)
        assert answer["ok"], answer
        return answer


METER = {
    "jackpot": "main", "amount_cents": 0, "state": "live", "pending": [], "epoch": 1, "seq": 1,
    "as_of": "2026-11-15T09:30:00.000Z", "fall": None, "unavailable": None,
}  # fmt: skip


def ledger(site):
    (pools,) = site.answer("pools")
    return pools["meter_cents"]


def wait_shown(page, cents):
    """Wait until the odometer stands at this value, and a frame has recorded it."""
    stands = f"shown() === {cents} && document.getElementById('odometer').dataset.rolling === 'false'"
    wait_for(page, f"{stands} && drawn.at(-1) === {cents}")


def test_the_meter_on_the_display_is_the_ledgers_to_the_cent(shared):
    site, client, page = shared
    assert page.title() == "Progressive jackpot · Canberra Poker"
    before = ledger(site)
    wait_shown(page, before)
    for table in ("t1", "t2"):
        Table(client, table).play()
    cents = ledger(site)
    assert cents == before + 14 * 140
    wait_shown(page, cents)
    assert page.locator("#reading").text_content() == f"Meter: {money(cents)}"
    assert page.locator("[data-percent='100']").inner_text() == money(cents)
    assert page.locator("[data-percent='10']").inner_text() == money(cents // 10)


def test_it_rolls_forwards_only_and_falls_once_at_a_royal(display):
    site, client, page = display
    one, two = Table(client, "t1"), Table(client, "t2")
    for _ in range(5):
        one.play()
    wait_shown(page, ledger(site))  # else it might hear of all of it at once, and there would be nothing to fall from
    two.play(b5=ROYAL)
    wait_shown(page, ledger(site))  # down to the reset, before the next wagers lead up again
    for _ in range(3):
        one.play()
    wait_shown(page, ledger(site))
    told, drawn = page.evaluate("told"), page.evaluate("drawn")
    falls = [(a, b) for a, b in itertools.pairwise(told) if b < a]
    assert len(falls) == 1
    assert falls[0][1] <= 1_000_000 + 3 * 7 * 140
    directions = [later > earlier for earlier, later in itertools.pairwise(drawn)]
    runs = [(forwards, len(list(run))) for forwards, run in itertools.groupby(directions)]
    assert [forwards for forwards, _ in runs] == [True, False, True]
    assert min(length for _, length in runs) > 10  # it rolls, it does not jump
    assert drawn[-1] == ledger(site)


def test_a_void_takes_it_back_to_the_ledger(shared):
    site, client, page = shared
    table, before = Table(client, "t1"), ledger(site)
    table.open()
    wait_shown(page, before + 7 * 140)
    table.void(3)
    wait_shown(page, before + 6 * 140)
    assert ledger(site) == before + 6 * 140
    assert page.evaluate("told")[-2:] == [before + 7 * 140, before + 6 * 140]
    table.settle()


def test_a_royal_is_celebrated_stands_pending_beside_the_new_meter_and_is_paid(display):
    site, client, page = display
    (payout,) = Table(client, "t2").play(b5=ROYAL)
    page.wait_for_selector(".celebrating")
    assert payout["amount_cents"] == 1_000_980
    assert page.locator("#winner-hand").inner_text().lower() == "royal flush"
    assert page.locator("#winner-place").inner_text() == "Table t2 · Box 5"
    assert page.locator("#winner-status").inner_text() == "Awaiting confirmation"
    signs = page.locator("#winner-amount use").evaluate_all(
        "all => all.map((use) => use.getAttribute('href').slice(1))"
    )
    names = {"dollar": "$", "comma": ",", "point": "."}
    assert "".join(names.get(sign) or sign[1:] for sign in signs) == "$10,009.80"
    sentence = "Royal flush at table t2, box 5: $10,009.80, awaiting confirmation"
    assert page.locator("#status").text_content() == sentence
    wait_shown(page, 1_000_000)  # the reset
    page.wait_for_selector(".stage:not(.celebrating)")
    assert page.locator("#pending li").all_inner_texts() == [sentence]
    assert page.locator(".odometer").is_visible()

    late = page.context.new_page()  # a screen that is switched on now
    late.goto(page.url)
    late.wait_for_selector("#pending li.awaiting")
    late.close()

    assert site.act("rounds/t2/1/confirm")[0] == 200
    wait_for(page, "document.querySelector('#pending li')?.textContent.endsWith(', paid')")
    wait_for(page, "document.querySelectorAll('#pending li').length === 0")
    assert page.locator("#celebration").is_hidden()


def test_a_corrected_win_is_not_celebrated_any_longer(display):
    site, client, page = display
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    site.act("rounds/t1/1/correct", {"hands": {"1": None}, "reason": "a test"})
    page.wait_for_selector(".stage:not(.celebrating)", timeout=5_000)
    wait_shown(page, 1_000_980)
    assert page.locator("#pending li").count() == 0


def test_a_small_prize_gets_a_line_and_no_celebration(display):
    _, client, page = display
    Table(client, "t1").play(b2=FLUSH)
    page.wait_for_selector("#pending li.paid")
    assert page.locator("#pending li").all_inner_texts() == ["Flush at table t1, box 2: $100.00, paid"]
    assert page.locator(".celebrating").count() == 0


def test_a_killed_controller_makes_the_meter_unavailable_until_it_is_back(display, forgiven):
    site, client, page = display
    forgiven |= LOST
    Table(client, "t1").play()
    wait_shown(page, 1_000_980)
    site.kill()
    page.wait_for_selector("[data-state=unavailable]", timeout=15_000)
    assert page.locator(".notice-title").inner_text() == "Meter unavailable"
    assert page.locator(".odometer").is_hidden()
    assert "Meter unavailable" in page.locator("#status").text_content()
    assert page.locator("[data-percent='100']").inner_text() == "—"
    assert "$10,009.80" not in page.inner_text("body")
    assert serious_findings(page) == {}
    site.start()
    page.wait_for_selector("[data-state=live]", timeout=15_000)
    wait_shown(page, 1_000_980)
    assert page.locator(".odometer").is_visible()


def test_a_stop_makes_the_meter_unavailable_at_once_and_a_fall_meanwhile_is_believed(display, forgiven):
    site, client, page = display
    forgiven |= LOST
    Table(client, "t1").play()
    wait_shown(page, 1_000_980)
    began = time.monotonic()
    assert site.stop() == 0
    page.wait_for_selector("[data-state=unavailable]")
    assert time.monotonic() - began < 4
    manager, other = site.tokens
    moved = ("adjustment", "propose", "jackpot", "reserve", "980", "--reason", "a test", "--token", manager)
    site.answer("adjustment", "approve", str(site.answer(*moved)["proposal"]), "--token", other)
    site.start()
    page.wait_for_selector("[data-state=live]", timeout=15_000)
    wait_shown(page, 1_000_000)


def test_suspended_tables_make_it_unavailable_until_one_is_resumed(shared):
    site, client, page = shared
    for table in ("t1", "t2", "t3"):
        client.command(table, "m1", "report_malfunction", equipment="shoe", note="a test")
    page.wait_for_selector("[data-state=unavailable]")
    assert "suspended" in page.locator("#notice-text").inner_text()
    for table in ("t1", "t2", "t3"):
        assert site.act(f"tables/{table}/resume", {"note": "a test"})[0] == 200
    page.wait_for_selector("[data-state=live]")


MEETS = """
async (told) => {
  const { Meter } = await import("/static/meter.js");
  const meter = new Meter();
  return told.map(([epoch, seq, amount_cents, fall]) => [
    meter.hear({ epoch, seq, amount_cents, fall: fall && { reason: "win", seq: fall } }),
    meter.cents,
  ]);
}
"""


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param([(1, 5, 100, None), (1, 4, 90, None)], ("ignored", 100), id="an older message is ignored"),
        pytest.param([(2, 5, 100, None), (1, 9, 200, None)], ("ignored", 100), id="and one of an older controller"),
        pytest.param([(1, 5, 100, None), (1, 6, 90, 6)], ("fallen", 90), id="a fall that is recorded is believed"),
        pytest.param([(1, 5, 100, None), (1, 6, 90, None)], ("distrusted", 100), id="one with no record is not"),
        pytest.param([(1, 5, 100, 5), (1, 6, 90, 5)], ("distrusted", 100), id="nor one with a record seen before"),
        pytest.param([(1, 5, 100, None), (3, 900, 70, 400)], ("fallen", 70), id="a long absence is caught up with"),
        pytest.param([(1, 5, 100, None), (3, 900, 700, 400)], ("risen", 700), id="whatever happened meanwhile"),
        pytest.param([(1, 5, 100, None), (2, 3, 90, 2)], ("distrusted", 100), id="an older store is not believed"),
        pytest.param([(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 99, 2)], ("distrusted", 100), id="until it is"),
        pytest.param([(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 100, 2)], ("risen", 100), id="back where it was"),
        pytest.param([(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 80, 7)], ("fallen", 80), id="or a record explains it"),
        pytest.param([(1, 5, 100, None), (1, 5, 100, None)], ("risen", 100), id="the same again is no matter"),
    ],
)
def test_a_meter_runs_backwards_only_where_a_record_says_why(still_page, told, expected):
    first, *_, last = still_page.evaluate(MEETS, told)
    assert first == ["first", told[0][2]]
    assert tuple(last) == expected


@pytest.fixture(scope="module")
def still_page(chromium, shared_floor):
    """A page of the site's, to try its scripts in."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{shared_floor[0].http}/display/nothing")
    yield page
    context.close()


def test_a_value_that_nothing_explains_is_not_shown_until_a_record_does(shared_floor, new_page):
    """Only a fault could send it, so a feed is made up, piece by piece: each is what one more connection brings."""
    site, _ = shared_floor
    page = new_page()
    pieces = [
        [(5, 1_000_000, None), (6, 999_999, None)],
        [(7, 1_000_100, None)],
        [(8, 900_000, None)],
        [(9, 900_100, 9)],
    ]
    fed = iter(pieces)

    def answer(route):
        meters = [{**METER, "seq": seq, "amount_cents": cents, "fall": fall} for seq, cents, fall in next(fed, [])]
        for meter in meters:
            meter["fall"] = meter["fall"] and {"reason": "void", "seq": meter["fall"]}
        hello = {"as_of": METER["as_of"], "version": software_version()}
        told = [("hello", hello), *(("meter", meter) for meter in meters)]
        body = "".join(f"event: {kind}\ndata: {json.dumps({'name': kind, 'body': one})}\n\n" for kind, one in told)
        route.fulfill(content_type="text/event-stream", body=f"retry: 1500\n{body}")

    page.route("**/feed", answer)
    page.add_init_script(RECORD)
    page.goto(f"http://127.0.0.1:{site.http}/display/main")
    page.wait_for_selector("[data-state=unavailable]")
    assert "no record explains it" in page.locator("#notice-text").inner_text()
    page.wait_for_selector("[data-state=live]")
    page.wait_for_selector("[data-state=unavailable]")
    page.wait_for_selector("[data-state=live]")
    wait_shown(page, 900_100)
    assert page.evaluate("told") == [1_000_000, 1_000_100, 900_100]


ARRIVED = "document.getAnimations().every((one) => one.effect.getComputedTiming().endTime === Infinity)"
"""Nothing moves any more but what moves for ever: what fades in is not looked at halfway."""


def test_it_fits_every_screen_and_nothing_on_it_is_hard_to_use(display):
    _, client, page = display

    def look():
        for width, height in ((1920, 1080), (1180, 820), (820, 1180), (1080, 1920)):
            page.set_viewport_size({"width": width, "height": height})
            measured = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            assert measured == [width, height]
            assert serious_findings(page) == {}

    look()
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    wait_for(page, ARRIVED)
    look()
    page.wait_for_selector(".stage:not(.celebrating)")
    page.wait_for_selector("#pending li.awaiting")
    wait_for(page, ARRIVED)
    look()


def test_the_page_for_an_unknown_jackpot_is_readable_too(still_page, new_page, forgiven):
    forgiven.add("404")
    page = new_page()
    address = urlsplit(still_page.url)
    assert page.goto(f"{address.scheme}://{address.netloc}/display/nothing").status == 404
    assert page.locator("h1").inner_text().lower() == "no such jackpot"
    assert serious_findings(page) == {}


def test_with_less_motion_values_change_at_once_and_nothing_is_animated(floor, new_page):
    site, client = floor
    page = opened(new_page(reduced_motion="reduce"), site)
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    wait_shown(page, 1_000_000)
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("frames.length") == 0
    assert set(page.evaluate("drawn")) <= {1_000_000, *page.evaluate("told")}


def test_nothing_is_loaded_from_elsewhere(shared_floor, new_page):
    site, _ = shared_floor
    page = new_page()
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).netloc))
    opened(page, site)
    assert set(asked) == {f"127.0.0.1:{site.http}"}


MAX_MS = 30
"""What the page may take of a frame: 50 ms are the promise, and a screen's own processor is slower than this one."""


def test_no_frame_of_a_roll_a_fall_or_a_celebration_takes_the_page_too_long(display, chromium):
    site, client, page = display
    one, two = Table(client, "t1"), Table(client, "t2")
    wait_shown(page, ledger(site))
    wait_for(page, ARRIVED)
    with measured(chromium) as roll:
        for _ in range(3):
            one.play()
        one.open()
        wait_shown(page, ledger(site))
    rolled = page.evaluate("frames.splice(0).length")
    with measured(chromium) as fall:
        one.void(3)
        wait_shown(page, ledger(site))
    fallen = page.evaluate("frames.splice(0).length")
    with measured(chromium, painting=False) as celebration:  # which is painted once, as a whole
        two.play(b5=ROYAL)
        page.wait_for_selector(".celebrating")
        wait_shown(page, 1_000_000)
        one.settle()
        page.wait_for_selector(".stage:not(.celebrating)")
    assert min(rolled, fallen, page.evaluate("frames.length")) > 20, "it did not roll"
    assert max(roll) < MAX_MS
    assert max(fall) < MAX_MS
    assert max(celebration) < MAX_MS


def test_a_frame_that_takes_too_long_would_be_noticed(shared, chromium):
    _, _, page = shared
    busy = "() => requestAnimationFrame((now) => { while (performance.now() < now + 300); document.title = 'done'; })"
    with measured(chromium) as spell:
        page.evaluate(busy)
        wait_for(page, "document.title === 'done'")
    assert max(spell) > MAX_MS
