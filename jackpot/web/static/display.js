// The meter display: what the feed tells becomes what the screen shows.

import { listen } from "./feed.js";
import { Meter } from "./meter.js";
import { Odometer, spell } from "./odometer.js";

const REASONS = {
  lost: "The connection to the controller is lost. Trying again…",
  store: "The controller cannot record wagers at the moment.",
  broker: "The controller cannot reach the tables at the moment.",
  suspended: "Jackpot wagers are suspended. A supervisor has been called.",
  retired: "This jackpot has ended.",
  unexplained: "The meter is lower than it was shown here, and no record explains it. Please call a supervisor.",
};
const RECENT_MS = 30_000; // a win that is older than that is not celebrated any more
const CELEBRATION_MS = 12_000;
const NEXT_CELEBRATION_MS = 8_000; // while others wait
const NOTE_MS = 10_000;
const MOST_LINES = 3;
const SPARKS = 18;

const find = (id) => document.getElementById(id);
const stage = find("stage");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const meter = new Meter();
const odometer = new Odometer(find("odometer"));

let told = null; // the newest meter
let isDistrusted = false;
let isLost = false;
let clockAhead = 0; // the controller's clock, less ours

function money(cents) {
  const text = `${Math.floor(cents / 100)}`.replace(/\B(?=(\d{3})+$)/g, ",");
  return `$${text}.${String(cents % 100).padStart(2, "0")}`;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The meter.

function heardMeter(body) {
  const meaning = meter.hear(body);
  if (meaning === "ignored") return;
  told = body;
  isDistrusted = meaning === "distrusted";
  if (meaning === "first" || (!isDistrusted && calm.matches)) odometer.set(meter.cents);
  else if (meaning === "risen") odometer.roll(meter.cents);
  else if (meaning === "fallen") odometer.fall(meter.cents);
  refresh();
}

function whyUnavailable() {
  if (isLost) return "lost";
  return isDistrusted ? "unexplained" : told.unavailable;
}

function refresh() {
  if (told === null && !isLost) return;
  const why = whyUnavailable();
  const state = why === null ? "live" : "unavailable";
  setText(find("notice-text"), why === null ? "" : REASONS[why]);
  setText(find("reading"), why === null ? `Meter: ${money(meter.cents)}` : `Meter unavailable. ${REASONS[why]}`);
  if (stage.dataset.state !== state) {
    announce(why === null ? `The meter is live: ${money(meter.cents)}` : `Meter unavailable. ${REASONS[why]}`);
    stage.dataset.state = state;
    find("loading").hidden = true;
    find("notice").hidden = why === null;
  }
  showPrizes(why === null);
  showLines();
}

function announce(text) {
  setText(find("status"), text);
}

// The prizes that are a share of the meter, as they would be paid now.

function showPrizes(isLive) {
  for (const element of find("prizes").querySelectorAll("[data-percent]")) {
    const share = Math.floor((meter.cents * Number(element.dataset.percent)) / 100);
    setText(element, isLive ? money(Math.max(share, Number(element.dataset.least))) : "—");
  }
}

function heardPrizes(html) {
  const prizes = find("prizes");
  if (prizes.dataset.html === html) return;
  prizes.dataset.html = html;
  prizes.innerHTML = html;
  refresh();
}

// Wins: a celebration of the grand ones, a line for each while it is pending or new.

const known = new Map(); // win id → status
const waiting = [];
let notes = []; // {text, until}
let celebrated = null;
let celebrationTimer = 0;

function sentence(win, end) {
  return `${win.hand_name} at table ${win.table}, box ${win.box}: ${win.text}, ${end}`;
}

function heardWins(wins) {
  for (const win of [...wins].reverse()) {
    const before = known.get(win.win_id);
    if (before === win.status) continue;
    known.set(win.win_id, win.status);
    const isRecent = Date.now() + clockAhead - Date.parse(win.at) < RECENT_MS;
    if (win.status === "corrected") withdraw(win);
    else if (before === "pending") paid(win);
    else if (isRecent && win.grand) enqueue(win);
    else if (isRecent && win.status === "paid") note(sentence(win, "paid"));
  }
  for (const id of [...known.keys()].slice(0, -1_000)) known.delete(id);
}

function note(text) {
  notes.push({ text, until: performance.now() + NOTE_MS });
  setTimeout(showLines, NOTE_MS + 50);
  announce(text);
  showLines();
}

function paid(win) {
  if (celebrated?.win_id === win.win_id) setText(find("winner-status"), "Paid");
  note(sentence(win, "paid"));
}

function enqueue(win) {
  waiting.push(win);
  if (celebrated === null) celebrate();
  else if (waiting.length === 1) celebrationTimer = later(NEXT_CELEBRATION_MS);
}

function withdraw(win) {
  const at = waiting.findIndex((other) => other.win_id === win.win_id);
  if (at >= 0) waiting.splice(at, 1);
  if (celebrated?.win_id === win.win_id) celebrate();
}

function later(ms) {
  clearTimeout(celebrationTimer);
  return setTimeout(celebrate, ms);
}

function celebrate() {
  const win = waiting.shift() ?? null;
  celebrated = win;
  find("celebration").hidden = win === null;
  stage.classList.toggle("celebrating", win !== null);
  if (win === null) return;
  const end = win.status === "pending" ? "awaiting confirmation" : "paid";
  setText(find("winner-hand"), win.hand_name);
  spell(find("winner-amount"), win.text);
  setText(find("winner-place"), `Table ${win.table} · Box ${win.box}`);
  setText(find("winner-status"), end[0].toUpperCase() + end.slice(1));
  announce(sentence(win, end));
  celebrationTimer = later(waiting.length ? NEXT_CELEBRATION_MS : CELEBRATION_MS);
}

function showLines() {
  notes = notes.filter((one) => one.until > performance.now());
  const pending = (isLost ? [] : told?.pending ?? []).map((win) => ["awaiting", sentence(win, "awaiting confirmation")]);
  const lines = [...pending, ...notes.map((one) => ["paid", one.text]).reverse()];
  const more = lines.length - MOST_LINES;
  if (more > 0) lines.splice(MOST_LINES - 1, more + 1, ["", `and ${more + 1} more prizes`]);
  const list = find("pending");
  const text = JSON.stringify(lines);
  if (list.dataset.lines === text) return;
  list.dataset.lines = text;
  list.replaceChildren(
    ...lines.map(([className, line]) => {
      const item = document.createElement("li");
      item.className = className;
      item.textContent = line;
      return item;
    }),
  );
}

function makeSparks() {
  for (let n = 0; n < SPARKS; n++) {
    const spark = document.createElement("i");
    spark.textContent = "♦♠♥♣"[n % 4];
    spark.style.setProperty("--x", `${(n * 61.8) % 100}vw`);
    spark.style.setProperty("--late", `${-((n * 0.37) % 6)}s`);
    spark.style.setProperty("--size", `${1.2 + ((n * 7) % 5) * 0.45}vmin`);
    find("sparks").append(spark);
  }
}

makeSparks();
listen(
  stage.dataset.feed,
  {
    hello({ as_of, version }) {
      clockAhead = Date.parse(as_of) - Date.now();
      if (version !== stage.dataset.version) location.reload(); // the controller was upgraded, and its pages with it
    },
    meter: heardMeter,
    wins: heardWins,
    prizes: heardPrizes,
  },
  {
    lost() {
      isLost = true;
      refresh();
    },
    found() {
      isLost = false;
      refresh();
    },
  },
);
