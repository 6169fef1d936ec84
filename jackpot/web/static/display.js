// The meter display: show the meter, the prizes and the wins of the feed.

import { subscribe } from "./feed.js";
import { Meter } from "./meter.js";
import { Odometer, spell } from "./odometer.js";

const REASONS = {
  lost: "Connection to the controller lost. Trying again…",
  store: "The controller cannot record wagers at the moment.",
  broker: "The controller cannot reach the tables at the moment.",
  suspended: "Jackpot wagers are suspended. A supervisor has been called.",
  retired: "This jackpot has ended.",
  unexplained: "The meter is lower than the amount shown before, and no record explains why. Please call a supervisor.",
};
const RECENT_MS = 30_000; // older wins are not celebrated
const CELEBRATION_MS = 12_000;
const NEXT_CELEBRATION_MS = 8_000; // while another win is queued
const NOTE_MS = 10_000;
const MAX_LINES = 3;
const SPARKS = 18;

const find = (id) => document.getElementById(id);
const stage = find("stage");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const meter = new Meter();
const odometer = new Odometer(find("odometer"));

let latest = null; // the newest meter message
let isDistrusted = false;
let isLost = false;
let clockOffsetMs = 0; // the controller's clock minus this one

function money(cents) {
  const text = `${Math.floor(cents / 100)}`.replace(/\B(?=(\d{3})+$)/g, ",");
  return `$${text}.${String(cents % 100).padStart(2, "0")}`;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The meter.

function onMeter(body) {
  const meaning = meter.receive(body);
  if (meaning === "ignored") return;
  latest = body;
  isDistrusted = meaning === "distrusted";
  if (meaning === "first" || (!isDistrusted && reducedMotion.matches)) odometer.set(meter.cents);
  else if (meaning === "risen") odometer.roll(meter.cents);
  else if (meaning === "fallen") odometer.fall(meter.cents);
  refresh();
}

function unavailableReason() {
  if (isLost) return "lost";
  return isDistrusted ? "unexplained" : latest.unavailable;
}

function refresh() {
  if (latest === null && !isLost) return;
  const reason = unavailableReason();
  const state = reason === null ? "live" : "unavailable";
  setText(find("notice-text"), reason === null ? "" : REASONS[reason]);
  setText(find("reading"), reason === null ? `Meter: ${money(meter.cents)}` : `Meter unavailable. ${REASONS[reason]}`);
  if (stage.dataset.state !== state) {
    announce(reason === null ? `The meter is live: ${money(meter.cents)}` : `Meter unavailable. ${REASONS[reason]}`);
    stage.dataset.state = state;
    find("loading").hidden = true;
    find("notice").hidden = reason === null;
  }
  showPrizes(reason === null);
  showLines();
}

function announce(text) {
  setText(find("status"), text);
}

// Prizes that are a share of the meter, at its present value.

function showPrizes(isLive) {
  for (const element of find("prizes").querySelectorAll("[data-percent]")) {
    const share = Math.floor((meter.cents * Number(element.dataset.percent)) / 100);
    setText(element, isLive ? money(Math.max(share, Number(element.dataset.least))) : "—");
  }
}

function onPrizes(html) {
  const prizes = find("prizes");
  if (prizes.dataset.html === html) return;
  prizes.dataset.html = html;
  prizes.innerHTML = html;
  refresh();
}

// Wins: a celebration for each grand prize, and a line for each win that is pending or new.

const known = new Map(); // win id → status
const queue = []; // wins to celebrate
let notes = []; // {text, until}
let celebrated = null;
let celebrationTimer = 0;

function sentence(win, status) {
  return `${win.hand_name} at table ${win.table}, box ${win.box}: ${win.text}, ${status}`;
}

function onWins(wins) {
  for (const win of [...wins].reverse()) {
    const before = known.get(win.win_id);
    if (before === win.status) continue;
    known.set(win.win_id, win.status);
    const isRecent = Date.now() + clockOffsetMs - Date.parse(win.at) < RECENT_MS;
    if (win.status === "corrected") cancelCelebration(win);
    else if (before === "pending") showPaid(win);
    else if (isRecent && win.grand) enqueue(win);
    else if (isRecent && win.status === "paid") addNote(sentence(win, "paid"));
  }
  for (const id of [...known.keys()].slice(0, -1_000)) known.delete(id);
}

function addNote(text) {
  notes.push({ text, until: performance.now() + NOTE_MS });
  setTimeout(showLines, NOTE_MS + 50);
  announce(text);
  showLines();
}

function showPaid(win) {
  if (celebrated?.win_id === win.win_id) setText(find("winner-status"), "Paid");
  addNote(sentence(win, "paid"));
}

function enqueue(win) {
  queue.push(win);
  if (celebrated === null) celebrateNext();
  else if (queue.length === 1) celebrationTimer = celebrateNextIn(NEXT_CELEBRATION_MS);
}

function cancelCelebration(win) {
  const at = queue.findIndex((other) => other.win_id === win.win_id);
  if (at >= 0) queue.splice(at, 1);
  if (celebrated?.win_id === win.win_id) celebrateNext();
}

function celebrateNextIn(ms) {
  clearTimeout(celebrationTimer);
  return setTimeout(celebrateNext, ms);
}

function celebrateNext() {
  const win = queue.shift() ?? null;
  celebrated = win;
  find("celebration").hidden = win === null;
  stage.classList.toggle("celebrating", win !== null);
  if (win === null) return;
  const status = win.status === "pending" ? "awaiting confirmation" : "paid";
  setText(find("winner-hand"), win.hand_name);
  spell(find("winner-amount"), win.text);
  setText(find("winner-place"), `Table ${win.table} · Box ${win.box}`);
  setText(find("winner-status"), status[0].toUpperCase() + status.slice(1));
  announce(sentence(win, status));
  celebrationTimer = celebrateNextIn(queue.length ? NEXT_CELEBRATION_MS : CELEBRATION_MS);
}

function showLines() {
  notes = notes.filter((note) => note.until > performance.now());
  const pending = (isLost ? [] : latest?.pending ?? []).map((win) => ["awaiting", sentence(win, "awaiting confirmation")]);
  const lines = [...pending, ...notes.map((note) => ["paid", note.text]).reverse()];
  const more = lines.length - MAX_LINES;
  if (more > 0) lines.splice(MAX_LINES - 1, more + 1, ["", `and ${more + 1} more prizes`]);
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
subscribe(
  stage.dataset.feed,
  {
    hello({ as_of, version }) {
      clockOffsetMs = Date.parse(as_of) - Date.now();
      if (version !== stage.dataset.version) location.reload(); // the controller was upgraded: load its new pages
    },
    meter: onMeter,
    wins: onWins,
    prizes: onPrizes,
  },
  {
    onLost() {
      isLost = true;
      refresh();
    },
    onRestored() {
      isLost = false;
      refresh();
    },
  },
);
