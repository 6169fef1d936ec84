// Signing in: the token goes to the controller and is kept nowhere; a link may carry it behind its #, which no log sees.

import { act, Problem, sentence } from "./acts.js";
import "./ready.js";

const NOT_KEPT = {
  "http:": "This address needs https: over plain http your browser does not keep the sign-in. Open the console through the proxy that the README tells of.",
  "https:": "Your browser did not keep the sign-in: let it take cookies from this address.",
};
const form = document.getElementById("sign-in");
const problem = document.getElementById("problem");

/** Where whoever is signed in goes on to: a page of this very site, whatever its address was said to be. */
function onward() {
  const { back } = form.dataset;
  return URL.canParse(back, location.origin) && new URL(back, location.origin).origin === location.origin ? back : "/";
}

/** The cookie is for https alone, but on the controller's own machine: elsewhere a browser drops it without a word. */
async function requireKept() {
  const { status } = await fetch("/api/v1/session");
  if (status === 401) throw new Problem({ code: "not_kept", status: 0, detail: NOT_KEPT[location.protocol] });
}

async function signIn(token) {
  problem.textContent = "";
  form.setAttribute("aria-busy", "true");
  try {
    await act("/api/v1/session", null, "POST", undefined, { token });
    await requireKept();
    location.replace(onward());
  } catch (error) {
    problem.textContent = error.status === 401 ? "This token is not known, or it has ended." : sentence(error);
    form.removeAttribute("aria-busy");
    form.elements.token.select();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(form.elements.token.value.trim());
});

function takeCarried() {
  const carried = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!carried) return false;
  history.replaceState(null, "", location.pathname + location.search);
  signIn(carried);
  return true;
}

window.addEventListener("hashchange", takeCarried); // the link was opened where this page was open already
if (!takeCarried()) form.elements.token.focus();
