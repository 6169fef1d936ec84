// Sign in with a token. It is sent to the controller and not stored. A link may carry it after the #, which no log records.

import { act, Problem, sentence } from "./acts.js";
import "./ready.js";

const NOT_KEPT = {
  "http:": "This address needs https. Over plain http your browser does not keep the sign-in. Open the console through the proxy that the README describes.",
  "https:": "Your browser did not keep the sign-in. Allow cookies from this address.",
};
const form = document.getElementById("sign-in");
const problem = document.getElementById("problem");

/** The page to go to after sign-in: the requested one if it belongs to this site, else the floor. */
function nextPage() {
  const { back } = form.dataset;
  return URL.canParse(back, location.origin) && new URL(back, location.origin).origin === location.origin ? back : "/";
}

/** Throw a Problem if the browser dropped the cookie; without https it does so silently, except on localhost. */
async function requireCookie() {
  const { status } = await fetch("/api/v1/session");
  if (status === 401) throw new Problem({ code: "not_kept", status: 0, detail: NOT_KEPT[location.protocol] });
}

async function signIn(token) {
  problem.textContent = "";
  form.setAttribute("aria-busy", "true");
  try {
    await act("/api/v1/session", null, "POST", undefined, { token });
    await requireCookie();
    location.replace(nextPage());
  } catch (error) {
    problem.textContent = error.status === 401 ? "This token is unknown or has expired." : sentence(error);
    form.removeAttribute("aria-busy");
    form.elements.token.select();
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(form.elements.token.value.trim());
});

/** Sign in with the token in the address, if there is one, and remove it from there. */
function signInFromLink() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  history.replaceState(null, "", location.pathname + location.search);
  signIn(token);
  return true;
}

window.addEventListener("hashchange", signInFromLink); // the link was opened in a tab that shows this page already
if (!signInFromLink()) form.elements.token.focus();
