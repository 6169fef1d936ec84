// The console's pages: live fragments, acts asked for in a dialog, signing out.

import { act, newKey, sentence } from "./acts.js";
import { ask } from "./ask.js";
import { listen } from "./feed.js";
import { changed } from "./refresh.js";
import { shows, swap } from "./swap.js";

const said = document.getElementById("said");
const lost = document.getElementById("lost");

const known = new Map(); // what was heard of fragments that this page does not show itself

/** Put a fragment in its place; parts of the page that depend on it are old then. */
function place(body, name) {
  const target = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  if (target) {
    if (shows(target, body ?? "")) return;
    swap(target, body ?? "");
  } else {
    const text = JSON.stringify(body);
    if (known.get(name) === text) return;
    known.set(name, text);
  }
  changed(name);
}

export function tell(text) {
  said.textContent = text;
}

function follow(then) {
  if (then === "reload") location.reload();
  else if (then) location.assign(then);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  ask(button, (answer) => {
    tell(`Done: ${button.dataset.title}.`);
    if (answer?.token === undefined) follow(button.dataset.then);
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
        follow(form.dataset.then ?? "reload");
      },
      (error) => (problem.textContent = sentence(error)),
    )
    .finally(() => form.removeAttribute("aria-busy"));
});

document.addEventListener("click", (event) => {
  if (event.target.closest("button[data-print]")) print();
});

document.getElementById("sign-out")?.addEventListener("click", () => {
  act("/api/v1/session", null, "DELETE").finally(() => location.assign("/sign-in"));
});

if (document.body.dataset.feed) {
  const kinds = ["bar", "card", "waiting", "wins"];
  listen(document.body.dataset.feed, Object.fromEntries(kinds.map((kind) => [kind, place])), {
    lost: () => (lost.hidden = false),
    found: () => (lost.hidden = true),
  });
}
