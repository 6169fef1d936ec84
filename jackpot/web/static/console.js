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

/** Light the lamps of the tables on this page; a card that is rendered anew may know less of them than was told. */
let lit = {};
function light(body = lit) {
  lit = body;
  for (const [table, boxes] of Object.entries(lit)) {
    for (const box of document.querySelectorAll(`[data-live="card:${CSS.escape(table)}"] [data-box]`)) {
      const on = boxes.includes(Number(box.dataset.box));
      if (box.classList.contains("lit") !== on) {
        box.classList.toggle("lit", on);
        box.querySelector("[data-lamp]").textContent = on ? "lit" : "dark";
      }
    }
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
  const heard = {
    bar: place,
    waiting: place,
    card(body, name) {
      place(body, name);
      light();
    },
    lamps: light,
  };
  listen(document.body.dataset.feed, heard, {
    lost: () => (lost.hidden = false),
    found: () => (lost.hidden = true),
  });
}
