// Every page of the console: live fragments, acts in a dialog or a form, signing out.

import { openActDialog } from "./act_dialog.js";
import { act, newKey, sentence } from "./acts.js";
import { subscribe } from "./feed.js";
import { checkSession, fragmentChanged, refreshNow } from "./follow_feed.js";
import { navigate, reloadSignedOut } from "./navigation.js";
import { hasHtml, patchHtml } from "./patch_html.js";
import "./ready.js";

const toast = document.getElementById("toast");
const disconnected = document.getElementById("disconnected");

const received = new Map(); // fragment name → its newest body, as JSON

/** Show a fragment and refresh the parts of the page that depend on it. */
function showFragment(body, name) {
  const text = JSON.stringify(body);
  const isFirst = !received.has(name);
  const isSame = received.get(name) === text; // a part may still have been fetched in between, while it was different
  received.set(name, text);
  const target = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  if (target && isFirst && hasHtml(target, body ?? "")) return;
  if (target && !isSame) patchHtml(target, body ?? "");
  fragmentChanged(name);
}

// A fetched part may be older than the feed: show the newest fragments in it.
document.addEventListener("patched", (event) => {
  for (const target of event.target.querySelectorAll("[data-live]")) {
    const body = JSON.parse(received.get(target.dataset.live) ?? "null");
    if (body !== null && !hasHtml(target, body)) patchHtml(target, body);
  }
  showLamps();
});

/** Refresh the floor if its cards are not exactly those of the linked tables. */
function followTables(tables) {
  const cards = document.querySelectorAll('[data-refresh-on="tables"] [data-live]');
  const shown = new Set(Array.from(cards, (card) => card.dataset.live));
  if (shown.size !== tables.length || !tables.every((table) => shown.has(`card:${table}`))) fragmentChanged("tables");
}

let lit = {}; // table → its lit boxes

/** Show the lamps of the tables on this page; also called after a patch, because a fetched card may be older. */
function showLamps(body = lit) {
  const before = lit;
  lit = body;
  for (const [table, boxes] of Object.entries(lit)) {
    if (String(before[table]) !== String(boxes)) fragmentChanged(`lamps:${table}`);
    for (const box of document.querySelectorAll(`[data-live="card:${CSS.escape(table)}"] [data-box]`)) {
      const on = boxes.includes(Number(box.dataset.box));
      if (box.classList.contains("lit") !== on) {
        box.classList.toggle("lit", on);
        box.querySelector("[data-lamp]").textContent = on ? "lit" : "off";
      }
    }
  }
}

const TOAST_MS = 8_000;
let toastTimer = 0;

function showToast(text) {
  toast.textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toast.textContent = ""), TOAST_MS);
}

/** Do what data-then names after an act: refresh, reload, or go to an address. */
function continueWith(then) {
  if (then === "refresh") refreshNow();
  else if (then) navigate(then === "reload" ? "" : then);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  openActDialog(button, (answer) => {
    showToast(`Done: ${button.dataset.title}.`);
    if (!("token" in answer || "half" in answer)) continueWith(button.dataset.then);
  });
});

const keys = new WeakMap(); // form → idempotency key: a form that is sent again after an unknown outcome acts once

document.addEventListener("submit", (event) => {
  // A form on the page itself, not in the dialog.
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
        showToast(`Done: ${form.dataset.title}.`);
        continueWith(form.dataset.then ?? "refresh");
      },
      (error) => (problem.textContent = sentence(error)),
    )
    .finally(() => form.removeAttribute("aria-busy"));
});

document.addEventListener("click", (event) => {
  if (event.target.closest("button[data-print]")) print();
});

document.getElementById("sign-out")?.addEventListener("click", () => {
  // Straight to the plain sign-in page, without "your session has ended"; also if the session had ended already.
  navigate("/sign-in", act("/api/v1/session", null, "DELETE").catch(() => null));
});

if (document.body.dataset.feed) {
  const handlers = {
    bar: showFragment,
    pending: showFragment,
    waiting: showFragment,
    wins: showFragment,
    card: showFragment,
    lamps(body) {
      showLamps(body);
      followTables(Object.keys(body));
    },
    ended: reloadSignedOut,
  };
  subscribe(document.body.dataset.feed, handlers, {
    onLost: () => (disconnected.hidden = false),
    onRestored: () => (disconnected.hidden = true),
    onRefused: checkSession,
  });
}
