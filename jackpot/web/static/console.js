// The console's pages: live fragments, acts asked for in a dialog, signing out.

import { act, sentence } from "./acts.js";
import { ask } from "./ask.js";
import { listen } from "./feed.js";

const said = document.getElementById("said");
const lost = document.getElementById("lost");

/** Put a fragment in its place, and the keyboard back to where it was. */
function place(body, name) {
  const target = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  if (!target) return;
  const focused = target.contains(document.activeElement) ? document.activeElement : null;
  const mark = focused && (focused.dataset.act ?? focused.getAttribute("href"));
  target.innerHTML = body ?? "";
  if (mark) {
    [...target.querySelectorAll("button, a")].find((one) => (one.dataset.act ?? one.getAttribute("href")) === mark)?.focus();
  }
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

document.addEventListener("submit", (event) => {
  // A form that stands on the page itself, not in the dialog.
  const form = event.target.closest("form[data-act]");
  if (!form) return;
  event.preventDefault();
  act(form.dataset.act, form).then(
    () => follow(form.dataset.then ?? "reload"),
    (problem) => (form.querySelector(".problem").textContent = sentence(problem)),
  );
});

document.getElementById("sign-out")?.addEventListener("click", () => {
  act("/api/v1/session", null, "DELETE").finally(() => location.assign("/sign-in"));
});

if (document.body.dataset.feed) {
  const kinds = ["bar", "card", "waiting"];
  listen(document.body.dataset.feed, Object.fromEntries(kinds.map((kind) => [kind, place])), {
    lost: () => (lost.hidden = false),
    found: () => (lost.hidden = true),
  });
}
