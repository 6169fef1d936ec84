// Fetch parts of a page again at a fixed interval while the page is visible.

import { reloadSignedOut } from "./navigation.js";

const FOCUSABLE = "a, summary, [tabindex]";
const CHECK_MS = 500;

/** Fetch a part again and put it in place; mark it stale if that fails. */
async function poll(part) {
  let response;
  try {
    // The header marks a request without user action, so that an open page does not keep its session alive.
    response = await fetch(part.dataset.poll, { redirect: "manual", headers: { "X-Unattended": "1" } });
  } catch {
    part.classList.add("stale");
    return;
  }
  if (response.type === "opaqueredirect") {
    reloadSignedOut();
    return;
  }
  part.classList.toggle("stale", !response.ok);
  if (response.ok) replaceHtml(part, await response.text());
}

/** Replace a part's HTML; open details, scroll positions and the focus stay. */
function replaceHtml(part, html) {
  const all = (selector) => [...part.querySelectorAll(selector)];
  const open = new Set(all("details[open]").map((details) => details.id));
  const scrolled = all(".scroll").map((element) => [element.scrollLeft, element.scrollTop]);
  const focused = all(FOCUSABLE).indexOf(document.activeElement);
  part.innerHTML = html;
  for (const details of all("details")) details.open = open.has(details.id);
  all(".scroll").forEach((element, n) => element.scrollTo(...(scrolled[n] ?? [0, 0])));
  all(FOCUSABLE)[focused]?.focus({ preventScroll: true });
}

for (const part of document.querySelectorAll("[data-poll]")) {
  const intervalMs = Number(part.dataset.pollSeconds) * 1_000;
  let polledAt = performance.now();
  const pollIfDue = () => {
    if (document.visibilityState !== "visible" || performance.now() - polledAt < intervalMs) return;
    polledAt = performance.now();
    poll(part);
  };
  setInterval(pollIfDue, CHECK_MS);
  document.addEventListener("visibilitychange", pollIfDue);
}
