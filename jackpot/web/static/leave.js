// Nobody is signed in here any more: the controller says where to go.

/** Go there; a token that is told only once stays until it has been taken down, and the page goes then. */
export function leave() {
  if (!document.querySelector("#ask[open] .token")) location.reload();
}
