// Every way off a page: the first that is chosen is taken, and nothing that is heard later changes it.

const KEPT = "#ask[open] .token, #ask[open] form[aria-busy]"; // a token that is told only once, or about to be

let isLeaving = false;
addEventListener("pageshow", () => (isLeaving = false)); // a browser may bring the very same page back

/** Go to an address, or without one to this page as it is now; after a promise, where one is to be kept first. */
export async function go(address, after) {
  if (isLeaving) return;
  isLeaving = true;
  await after;
  if (address) location.assign(address);
  else location.reload();
}

/** Nobody is signed in here any more, and the controller says where to go; what is told only once is taken down first. */
export function leave() {
  if (!document.querySelector(KEPT)) go();
}
