"""The meter display in a real browser, with a running daemon."""

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
window.targets = [];         // every target value of the odometer
window.drawn = [];           // every value that its strips have shown, frame by frame
window.frames = [];          // the duration of each frame while it rolled
window.celebrations = [];    // the duration of each celebration in ms
window.stateAtGoodbye = null;  // the display's state after it has handled the controller's "goodbye"
addEventListener("DOMContentLoaded", () => {
  const odometer = document.getElementById("odometer");
  new MutationObserver(() => {
    const cents = Number(odometer.dataset.cents);
    if (targets.at(-1) !== cents) targets.push(cents);
  }).observe(odometer, { attributes: true });
  const stage = document.getElementById("stage");
  let celebratedAt = null;
  new MutationObserver(() => {
    const isCelebrating = stage.classList.contains("celebrating");
    if (isCelebrating) celebratedAt ??= performance.now();
    else if (celebratedAt !== null) {
      celebrations.push(performance.now() - celebratedAt);
      celebratedAt = null;
    }
  }).observe(stage, { attributeFilter: ["class"] });
  let last = performance.now();
  requestAnimationFrame(function frame(now) {
    if (odometer.dataset.rolling === "true") frames.push(now - last);
    last = now;
    const cents = shown();
    if (cents !== null && drawn.at(-1) !== cents) drawn.push(cents);
    requestAnimationFrame(frame);
  });
});
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (kind, handler) {
  listen.call(this, kind, (event) => {
    handler(event);
    if (kind === "goodbye") stateAtGoodbye = document.getElementById("stage").dataset.state;
  });
};
// The value that the strips show: whole digits, from the transform of each strip.
window.shown = () => {
  const strips = [...document.querySelectorAll("#odometer .strip")];
  if (!strips.length) return null;
  const digits = strips.map((s) => Math.floor((-parseFloat(s.style.transform.split(",")[1]) * 11) / 100 + 1e-3) % 10);
  return Number(digits.join(""));
};
"""


def opened(page, site):
    """Open the display of the site's jackpot and record what it shows."""
    page.add_init_script(RECORD)
    page.goto(f"http://127.0.0.1:{site.http}/display/main")
    page.wait_for_selector("[data-state=live]")
    return page


@pytest.fixture
def display(floor, new_page):
    """A running site, a client, and the display of its jackpot in a browser."""
    site, client = floor
    return site, client, opened(new_page(), site)


@pytest.fixture(scope="module")
def shared_floor(mosquitto_port, tmp_path_factory):
    """A site for tests without wins: a display opened within 30 seconds after a win would celebrate it."""
    site = Site(tmp_path_factory.mktemp("shared"), f"mqtt://127.0.0.1:{mosquitto_port}")
    client = Client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    yield site, client
    client.close()
    site.kill()


@pytest.fixture
def shared_display(shared_floor, new_page):
    site, client = shared_floor
    return site, client, opened(new_page(), site)


class Table:
    """The dealer and the pads of one table."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        self.number = wait_until(lambda: client.last(f"tables/{name}/state"), "the table's state")["round"]

    def open(self, boxes=range(1, 8)):
        self.number += 1
        self._command("open_round")
        for box in boxes:
            self.client.wager(self.name, box, f"{self.name}-{self.number}-{box}", self.number)

    def settle(self, **hands):
        self._command("close_wagers", round=self.number)
        for box, cards in hands.items():
            self._command("declare", round=self.number, box=int(box[1:]), cards=cards)
        return self._command("settle", round=self.number)["payouts"]

    def play(self, **hands):
        self.open()
        return self.settle(**hands)

    def void(self, box):
        return self._command("void_hand", round=self.number, box=box, reason="a test")

    def _command(self, kind, **fields):
        answer = self.client.command(self.name, f"{kind}-{time.monotonic_ns()}", kind, **fields)
        assert answer["ok"], answer
        return answer


CELEBRATION_MS = 12_000
"""The duration of a celebration in display.js."""
METER = {
    "jackpot": "main", "amount_cents": 0, "state": "live", "pending": [], "epoch": 1, "seq": 1,
    "as_of": "2026-11-15T09:30:00.000Z", "fall": None, "unavailable": None,
}  # fmt: skip


def ledger(site):
    (pools,) = site.answer("pools")
    return pools["meter_cents"]


def wait_shown(page, cents):
    """Wait until the odometer shows this value without rolling, and a frame has recorded it."""
    is_shown = f"shown() === {cents} && document.getElementById('odometer').dataset.rolling === 'false'"
    wait_for(page, f"{is_shown} && drawn.at(-1) === {cents}")


def test_the_displayed_meter_equals_the_ledger(shared_display):
    site, client, page = shared_display
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


def test_the_meter_only_rolls_forward_and_falls_once_at_a_royal_flush(display):
    site, client, page = display
    one, two = Table(client, "t1"), Table(client, "t2")
    for _ in range(5):
        one.play()
    wait_shown(page, ledger(site))  # else all messages might come at once, without a value to fall from
    two.play(b5=ROYAL)
    wait_shown(page, ledger(site))  # down to the reset, before the next wagers
    for _ in range(3):
        one.play()
    wait_shown(page, ledger(site))
    targets, drawn = page.evaluate("targets"), page.evaluate("drawn")
    falls = [(a, b) for a, b in itertools.pairwise(targets) if b < a]
    assert len(falls) == 1
    assert falls[0][1] <= 1_000_000 + 3 * 7 * 140
    directions = [later > earlier for earlier, later in itertools.pairwise(drawn)]
    runs = [(forwards, len(list(run))) for forwards, run in itertools.groupby(directions)]
    assert [forwards for forwards, _ in runs] == [True, False, True]
    assert min(length for _, length in runs) > 10  # it rolls, it does not jump
    assert drawn[-1] == ledger(site)


def test_a_void_lowers_the_meter_to_the_ledger(shared_display):
    site, client, page = shared_display
    table, before = Table(client, "t1"), ledger(site)
    table.open()
    wait_shown(page, before + 7 * 140)
    table.void(3)
    wait_shown(page, before + 6 * 140)
    assert ledger(site) == before + 6 * 140
    assert page.evaluate("targets")[-2:] == [before + 7 * 140, before + 6 * 140]
    table.settle()


def test_a_royal_flush_is_celebrated_then_shown_as_pending_then_as_paid(display):
    site, client, page = display
    (payout,) = Table(client, "t2").play(b5=ROYAL)
    page.wait_for_selector(".celebrating")
    assert payout["amount_cents"] == 1_000_980
    assert page.locator("#winner-hand").inner_text().lower() == "royal flush"
    assert page.locator("#winner-place").inner_text() == "Table t2 · Box 5"
    assert page.locator("#winner-status").inner_text() == "Awaiting confirmation"
    symbols = page.locator("#winner-amount use").evaluate_all(
        "all => all.map((use) => use.getAttribute('href').slice(1))"
    )
    names = {"dollar": "$", "comma": ",", "point": "."}
    assert "".join(names.get(symbol) or symbol[1:] for symbol in symbols) == "$10,009.80"
    sentence = "Royal flush at table t2, box 5: $10,009.80, awaiting confirmation"
    assert page.locator("#status").text_content() == sentence
    wait_shown(page, 1_000_000)  # the reset
    page.wait_for_selector(".stage:not(.celebrating)")
    assert page.locator("#pending li").all_inner_texts() == [sentence]
    assert page.locator(".odometer").is_visible()

    late = page.context.new_page()  # a screen that is switched on later
    late.goto(page.url)
    late.wait_for_selector("#pending li.awaiting")
    late.close()

    assert site.act("rounds/t2/1/confirm")[0] == 200
    wait_for(page, "document.querySelector('#pending li')?.textContent.endsWith(', paid')")
    wait_for(page, "document.querySelectorAll('#pending li').length === 0")
    assert page.locator("#celebration").is_hidden()


def test_a_correction_ends_the_celebration(display):
    site, client, page = display
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    site.act("rounds/t1/1/correct", {"hands": {"1": None}, "reason": "a test"})
    page.wait_for_selector(".stage:not(.celebrating)")
    (lasted_ms,) = page.evaluate("celebrations")
    assert lasted_ms < CELEBRATION_MS, "it was not cut short"
    wait_shown(page, 1_000_980)
    assert page.locator("#pending li").count() == 0


def test_a_small_prize_is_shown_as_a_line_without_celebration(display):
    _, client, page = display
    Table(client, "t1").play(b2=FLUSH)
    page.wait_for_selector("#pending li.paid")
    assert page.locator("#pending li").all_inner_texts() == ["Flush at table t1, box 2: $100.00, paid"]
    assert page.locator(".celebrating").count() == 0


def test_the_meter_is_unavailable_while_the_controller_is_down(display, expected_errors):
    site, client, page = display
    expected_errors |= LOST
    Table(client, "t1").play()
    wait_shown(page, 1_000_980)
    site.kill()
    page.wait_for_selector("[data-state=unavailable]")
    assert page.locator(".notice-title").inner_text() == "Meter unavailable"
    assert page.locator(".odometer").is_hidden()
    assert "Meter unavailable" in page.locator("#status").text_content()
    assert page.locator("[data-percent='100']").inner_text() == "—"
    assert "$10,009.80" not in page.inner_text("body")
    assert serious_findings(page) == {}
    site.start()
    page.wait_for_selector("[data-state=live]")
    wait_shown(page, 1_000_980)
    assert page.locator(".odometer").is_visible()


def test_a_stop_makes_the_meter_unavailable_at_once_and_a_recorded_fall_is_trusted(display, expected_errors):
    site, client, page = display
    expected_errors |= LOST
    Table(client, "t1").play()
    wait_shown(page, 1_000_980)
    assert site.stop() == 0
    page.wait_for_selector("[data-state=unavailable]")
    assert page.evaluate("stateAtGoodbye") == "unavailable"
    manager, other = site.tokens
    moved = ("adjustment", "propose", "jackpot", "reserve", "980", "--reason", "a test", "--token", manager)
    site.answer("adjustment", "approve", str(site.answer(*moved)["proposal"]), "--token", other)
    site.start()
    page.wait_for_selector("[data-state=live]")
    wait_shown(page, 1_000_000)


def test_the_meter_is_unavailable_while_all_tables_are_suspended(shared_display):
    site, client, page = shared_display
    for table in ("t1", "t2", "t3"):
        client.command(table, "m1", "report_malfunction", equipment="shoe", note="a test")
    page.wait_for_selector("[data-state=unavailable]")
    assert "suspended" in page.locator("#notice-text").inner_text()
    for table in ("t1", "t2", "t3"):
        assert site.act(f"tables/{table}/resume", {"note": "a test"})[0] == 200
    page.wait_for_selector("[data-state=live]")


CLASSIFY = """
async (messages) => {
  const { Meter } = await import("/static/meter.js");
  const meter = new Meter();
  return messages.map(([epoch, seq, amount_cents, fall]) => [
    meter.receive({ epoch, seq, amount_cents, fall: fall && { reason: "win", seq: fall } }),
    meter.cents,
  ]);
}
"""


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([(1, 5, 100, None), (1, 4, 90, None)], ("ignored", 100), id="an older message is ignored"),
        pytest.param(
            [(2, 5, 100, None), (1, 9, 200, None)], ("ignored", 100), id="a message of an older epoch is ignored"
        ),
        pytest.param([(1, 5, 100, None), (1, 6, 90, 6)], ("fallen", 90), id="a recorded fall is trusted"),
        pytest.param([(1, 5, 100, None), (1, 6, 90, None)], ("distrusted", 100), id="an unrecorded fall is distrusted"),
        pytest.param(
            [(1, 5, 100, 5), (1, 6, 90, 5)], ("distrusted", 100), id="a fall with a record seen before is distrusted"
        ),
        pytest.param(
            [(1, 5, 100, None), (3, 900, 70, 400)], ("fallen", 70), id="a recorded fall after a long gap is trusted"
        ),
        pytest.param([(1, 5, 100, None), (3, 900, 700, 400)], ("risen", 700), id="a rise after a long gap is trusted"),
        pytest.param([(1, 5, 100, None), (2, 3, 90, 2)], ("distrusted", 100), id="an older store is distrusted"),
        pytest.param(
            [(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 99, 2)],
            ("distrusted", 100),
            id="a partial recovery stays distrusted",
        ),
        pytest.param([(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 100, 2)], ("risen", 100), id="a full recovery is trusted"),
        pytest.param(
            [(1, 5, 100, 2), (1, 6, 90, 2), (1, 7, 80, 7)], ("fallen", 80), id="a later record explains the fall"
        ),
        pytest.param(
            [(1, 5, 100, None), (1, 5, 100, None)], ("risen", 100), id="the same message again changes nothing"
        ),
    ],
)
def test_the_meter_falls_only_if_a_record_explains_it(script_page, messages, expected):
    first, *_, last = script_page.evaluate(CLASSIFY, messages)
    assert first == ["first", messages[0][2]]
    assert tuple(last) == expected


@pytest.fixture(scope="module")
def script_page(chromium, shared_floor):
    """A page of the site in which its scripts can be tested."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{shared_floor[0].http}/display/nothing")
    yield page
    context.close()


def test_an_unexplained_value_is_not_shown_until_a_record_explains_it(shared_floor, new_page):
    """Only a fault could send it, so the test answers the feed itself, one batch for each connection."""
    site, _ = shared_floor
    page = new_page()
    batches = [
        [(5, 1_000_000, None), (6, 999_999, None)],
        [(7, 1_000_100, None)],
        [(8, 900_000, None)],
        [(9, 900_100, 9)],
    ]
    remaining = iter(batches)

    def answer(route):
        meters = [
            {**METER, "seq": seq, "amount_cents": cents, "fall": fall} for seq, cents, fall in next(remaining, [])
        ]
        for meter in meters:
            meter["fall"] = meter["fall"] and {"reason": "void", "seq": meter["fall"]}
        hello = {"as_of": METER["as_of"], "version": software_version()}
        events = [("hello", hello), *(("meter", meter) for meter in meters)]
        body = "".join(
            f"event: {kind}\ndata: {json.dumps({'name': kind, 'body': value})}\n\n" for kind, value in events
        )
        route.fulfill(content_type="text/event-stream", body=f"retry: 1500\n{body}")

    page.route("**/feed", answer)
    page.add_init_script(RECORD)
    page.goto(f"http://127.0.0.1:{site.http}/display/main")
    page.wait_for_selector("[data-state=unavailable]")
    assert "no record explains why" in page.locator("#notice-text").inner_text()
    page.wait_for_selector("[data-state=live]")
    page.wait_for_selector("[data-state=unavailable]")
    page.wait_for_selector("[data-state=live]")
    wait_shown(page, 900_100)
    assert page.evaluate("targets") == [1_000_000, 1_000_100, 900_100]


ANIMATIONS_ENDED = "document.getAnimations().every((one) => one.effect.getComputedTiming().endTime === Infinity)"
"""Only endless animations are left: nothing is checked while it fades in."""


def test_the_display_fits_every_screen_and_is_accessible(display):
    _, client, page = display

    def check():
        for width, height in ((1920, 1080), (1180, 820), (820, 1180), (1080, 1920)):
            page.set_viewport_size({"width": width, "height": height})
            size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            assert size == [width, height]
            assert serious_findings(page) == {}

    check()
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    wait_for(page, ANIMATIONS_ENDED)
    check()
    page.wait_for_selector(".stage:not(.celebrating)")
    page.wait_for_selector("#pending li.awaiting")
    wait_for(page, ANIMATIONS_ENDED)
    check()


def test_the_page_for_an_unknown_jackpot_is_accessible(script_page, new_page, expected_errors):
    expected_errors.add("404")
    page = new_page()
    address = urlsplit(script_page.url)
    assert page.goto(f"{address.scheme}://{address.netloc}/display/nothing").status == 404
    assert page.locator("h1").inner_text().lower() == "no such jackpot"
    assert serious_findings(page) == {}


def test_with_reduced_motion_values_change_at_once_without_animation(floor, new_page):
    site, client = floor
    page = opened(new_page(reduced_motion="reduce"), site)
    Table(client, "t1").play(b1=ROYAL)
    page.wait_for_selector(".celebrating")
    wait_shown(page, 1_000_000)
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("frames.length") == 0
    assert set(page.evaluate("drawn")) <= {1_000_000, *page.evaluate("targets")}


def test_everything_is_loaded_from_the_controller(shared_floor, new_page):
    site, _ = shared_floor
    page = new_page()
    hosts = []
    page.on("request", lambda request: hosts.append(urlsplit(request.url).netloc))
    opened(page, site)
    assert set(hosts) == {f"127.0.0.1:{site.http}"}


MAX_MS = 30
"""Limit of the page's CPU time per frame: 50 ms is required, and a screen's own processor is slower."""


def test_no_frame_of_a_roll_a_fall_or_a_celebration_takes_too_long(display, chromium):
    site, client, page = display
    one, two = Table(client, "t1"), Table(client, "t2")
    wait_shown(page, ledger(site))
    wait_for(page, ANIMATIONS_ENDED)
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
    with measured(chromium, painting=False) as celebration:  # painted only once
        two.play(b5=ROYAL)
        page.wait_for_selector(".celebrating")
        wait_shown(page, 1_000_000)
        one.settle()
        page.wait_for_selector(".stage:not(.celebrating)")
    assert min(rolled, fallen, page.evaluate("frames.length")) > 20, "it did not roll"
    assert max(roll) < MAX_MS
    assert max(fall) < MAX_MS
    assert max(celebration) < MAX_MS


SLOW_FRAME = """
() => requestAnimationFrame(() => {
  let value = 1;
  for (let n = 0; n < 400_000_000; n++) value = (Math.imul(value, 1_103_515_245) + 12_345) | 0;
  document.title = `done ${value}`;
})
"""
"""A frame with a fixed amount of work: its CPU time does not depend on how busy the machine is."""


def test_the_measurement_detects_a_slow_frame(shared_display, chromium):
    _, _, page = shared_display
    with measured(chromium) as frames:
        page.evaluate(SLOW_FRAME)
        wait_for(page, "document.title.startsWith('done')")
    assert max(frames) > MAX_MS
