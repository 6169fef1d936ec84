// Refresh parts of a page after a fragment of the feed that they depend on has changed.
//
// Such a part has an id and names its fragments in data-refresh-on. The page is fetched again at most once a second, and
// only while it is visible.

import { reloadSignedOut } from "./navigation.js";
import { patchHtml } from "./patch_html.js";

const INTERVAL_MS = 1_000;

let fetchedAt = -INTERVAL_MS;
let isDue = false;
let timer = 0;

const parts = () => [...document.querySelectorAll("[data-refresh-on][id]")];

/** Schedule a refresh if a part depends on this fragment. */
export function fragmentChanged(name) {
  if (!parts().some((part) => part.dataset.refreshOn.split(" ").includes(name))) return;
  isDue = true;
  schedule();
}

/** Refresh at once, after an act of the user. */
export function refreshNow() {
  isDue = true;
  fetchedAt = -INTERVAL_MS;
  schedule();
}

function schedule() {
  if (!isDue || timer || document.hidden) return;
  timer = setTimeout(refresh, Math.max(0, fetchedAt + INTERVAL_MS - performance.now()));
}

/** Fetch this page's HTML; null if the session has ended, which redirects to the sign-in page. */
async function fetchPage() {
  // The header marks a request without user action, so that an open page does not keep its session alive.
  const response = await fetch(location.href, { headers: { Accept: "text/html", "X-Unattended": "1" } });
  if (response.redirected) reloadSignedOut();
  return response.ok && !response.redirected ? await response.text() : null;
}

/** Check, after the feed was refused, if the session has ended; if so, go to the sign-in page. */
export async function checkSession() {
  try {
    await fetchPage();
  } catch {
    // The controller cannot be reached, and the page shows that already.
  }
}

async function refresh() {
  isDue = false;
  try {
    const html = await fetchPage();
    if (html !== null) patchParts(html);
  } catch {
    isDue = true; // the controller cannot be reached: try again
  }
  fetchedAt = performance.now();
  timer = 0;
  schedule();
}

/** Patch each part; if one no longer exists in the new page, patch the whole main element. */
function patchParts(html) {
  const fetched = new DOMParser().parseFromString(html, "text/html");
  const hasAll = parts().every((part) => fetched.getElementById(part.id));
  for (const part of hasAll ? parts() : [document.getElementById("main")]) {
    const found = fetched.getElementById(part.id);
    if (found.innerHTML !== part.innerHTML && !hasUnsavedInput(part)) patchHtml(part, found.innerHTML);
  }
}

/** Return true if the user has changed a field in this part: a refresh would discard it. */
function hasUnsavedInput(part) {
  const isChanged = (field) =>
    field.options
      ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected))
      : field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  return [...part.querySelectorAll("input, select, textarea")].some(isChanged);
}

document.addEventListener("visibilitychange", schedule);
