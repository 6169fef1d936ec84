// Signing in: the token goes to the controller and is kept nowhere; a link may carry it behind its #, which no log sees.

import { act, sentence } from "./acts.js";

const form = document.getElementById("sign-in");
const problem = document.getElementById("problem");

async function signIn(token) {
  problem.textContent = "";
  form.setAttribute("aria-busy", "true");
  try {
    await act("/api/v1/session", null, "POST", undefined, { token });
    location.replace(form.dataset.back);
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
