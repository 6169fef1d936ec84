// Leave the page, once: after the first call of navigate() all others are ignored.

const KEEPS_PAGE = "#act-dialog[open] .token, #act-dialog[open] form[aria-busy]"; // a token that is shown only once, or is about to be

let isNavigating = false;
addEventListener("pageshow", () => (isNavigating = false)); // a browser may restore this page from its cache

/** Go to an address, or reload this page without one; wait for the promise `after` first. */
export async function navigate(address, after) {
  if (isNavigating) return;
  isNavigating = true;
  await after;
  if (address) location.assign(address);
  else location.reload();
}

/** Reload because the session has ended: the controller redirects to the sign-in page. Not while a token is shown. */
export function reloadSignedOut() {
  if (!document.querySelector(KEEPS_PAGE)) navigate();
}
