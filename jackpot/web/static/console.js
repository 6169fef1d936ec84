// The console's pages: live fragments, acts asked for in a dialog, signing out.

import { act, newKey, sentence } from "./acts.js";
import { ask } from "./ask.js";
import { listen } from "./feed.js";
import { go, leave } from "./leave.js";
import "./ready.js";
import { changed, leaveIfSignedOut, renew } from "./refresh.js";
import { shows, swap } from "./swap.js";

const said = document.getElementById("said");
const lost = document.getElementById("lost");

const known = new Map(); // what was last heard, by the fragment's name

/** Put a fragment in its place; parts of the page that depend on it are old then. */
function place(body, name) {
  const text = JSON.stringify(body);
  const isFirst = !known.has(name);
  const isOld = known.get(name) === text; // and yet a part may have been fetched while it was something else
  known.set(name, text);
  const target = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  if (target && isFirst && shows(target, body ?? "")) return;
  if (target && !isOld) swap(target, body ?? "");
  changed(name);
}

// What comes into a place may be older than what was heard: the fragments in it are as they were last told.
document.addEventListener("swapped", (event) => {
  for (const target of event.target.querySelectorAll("[data-live]")) {
    const body = JSON.parse(known.get(target.dataset.live) ?? "null");
    if (body !== null && !shows(target, body)) swap(target, body);
  }
  light();
});

/** The floor has a card for each table that is linked, and none for any other. */
function followTables(tables) {
  const shown = new Set(Array.from(document.querySelectorAll('[data-refresh="tables"] [data-live]'), (one) => one.dataset.live));
  if (shown.size !== tables.length || !tables.every((table) => shown.has(`card:${table}`))) changed("tables");
}

/** Light the lamps of the tables on this page; a card that is rendered anew may know less of them than was told. */
let lit = {};
function light(body = lit) {
  const before = lit;
  lit = body;
  for (const [table, boxes] of Object.entries(lit)) {
    if (String(before[table]) !== String(boxes)) changed(`lamps:${table}`);
    for (const box of document.querySelectorAll(`[data-live="card:${CSS.escape(table)}"] [data-box]`)) {
      const on = boxes.includes(Number(box.dataset.box));
      if (box.classList.contains("lit") !== on) {
        box.classList.toggle("lit", on);
        box.querySelector("[data-lamp]").textContent = on ? "lit" : "dark";
      }
    }
  }
}

const SAID_MS = 8_000;
let silence = 0;

export function tell(text) {
  said.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => (said.textContent = ""), SAID_MS);
}

function follow(then) {
  if (then === "refresh") renew();
  else if (then) go(then === "reload" ? "" : then);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  ask(button, (answer) => {
    tell(`Done: ${button.dataset.title}.`);
    if (!("token" in answer || "half" in answer)) follow(button.dataset.then);
  });
});

const keys = new WeakMap(); // a form sent again, because nobody knows how it went, acts once

document.addEventListener("submit", (event) => {
  // A form that stands on the page itself, not in the dialog.
  const form = event.target.closest("form[data-act]");
  if (!form) return;
  event.preventDefault();
  if (form.hasAttribute("aria-busy")) return;
  if (!keys.has(form)) keys.set(form, newKey());
  const problem = form.querySelector(".problem");
  form.setAttribute("aria-busy", "true");
  problem.textContent = "";
  act(form.dataset.act, form, "POST", keys.get(form))
    .then(
      () => {
        keys.delete(form);
        form.reset();
        tell(`Done: ${form.dataset.title}.`);
        follow(form.dataset.then ?? "refresh");
      },
      (error) => (problem.textContent = sentence(error)),
    )
    .finally(() => form.removeAttribute("aria-busy"));
});

document.addEventListener("click", (event) => {
  if (event.target.closest("button[data-print]")) print();
});

document.getElementById("sign-out")?.addEventListener("click", () => {
  // Whoever goes by themselves is not told that their session has ended; one that is not known here any more is over, too.
  go("/sign-in", act("/api/v1/session", null, "DELETE").catch(() => null));
});

if (document.body.dataset.feed) {
  const heard = {
    bar: place,
    pending: place,
    waiting: place,
    wins: place,
    card: place,
    lamps(body) {
      light(body);
      followTables(Object.keys(body));
    },
    ended: leave,
  };
  listen(document.body.dataset.feed, heard, {
    lost: () => (lost.hidden = false),
    found: () => (lost.hidden = true),
    refused: leaveIfSignedOut,
  });
}
