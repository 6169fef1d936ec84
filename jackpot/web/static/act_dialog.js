// One dialog for every act: what it is, what it needs to know, and how it went.

import { act, newKey, sentence, values } from "./acts.js";
import { go } from "./leave.js";

const dialog = document.getElementById("ask");

/** Ask for what a button's act needs, do it, and hear how it ended. */
export function ask(button, done) {
  const { act: path, title, ask: template, method } = button.dataset;
  const known = JSON.parse(button.dataset.values || "{}");
  const key = newKey();
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = Object.assign(document.createElement("h2"), { id: "ask-title", textContent: title });
  const problem = Object.assign(document.createElement("p"), { className: "problem" });
  problem.setAttribute("role", "alert");
  form.append(heading, document.getElementById(template || "ask-plain").content.cloneNode(true), problem, buttons());
  fill(form, known);
  dialog.replaceChildren(form);
  form.addEventListener("submit", async (event) => {
    if (event.submitter?.value === "no") return;
    event.preventDefault();
    form.setAttribute("aria-busy", "true");
    problem.textContent = "";
    try {
      const answer = await act(path, form, method, key, said(form));
      if ("token" in answer || "half" in answer) showToken(answer, button);
      else dialog.close();
      done(answer);
    } catch (error) {
      problem.textContent = sentence(error);
    } finally {
      form.removeAttribute("aria-busy");
    }
  });
  dialog.showModal();
  (form.querySelector("[autofocus]") ?? form.querySelector("input, select, textarea") ?? form.querySelector("button")).focus();
}

function said(form) {
  const told = values(form);
  if (!form.querySelector("[data-correction]")) return told;
  const hands = {};
  for (const row of form.querySelectorAll("[data-correction]")) {
    const cards = row.querySelector("[data-cards]");
    const nothing = row.querySelector("[data-nothing]").checked;
    const now = cards.value.trim().split(/[\s,]+/).filter(Boolean);
    if (nothing) hands[row.dataset.correction] = null;
    else if (now.join(" ") !== cards.dataset.was) hands[row.dataset.correction] = now;
  }
  return { ...told, hands };
}

function buttons() {
  const row = document.createElement("p");
  row.className = "acts";
  const yes = Object.assign(document.createElement("button"), { className: "primary", value: "yes", textContent: "Do it" });
  const no = Object.assign(document.createElement("button"), { className: "quiet", value: "no", textContent: "Cancel", formNoValidate: true });
  row.append(yes, no);
  return row;
}

function fill(form, known) {
  for (const place of form.querySelectorAll("[data-value]")) place.textContent = known[place.dataset.value] ?? "";
  for (const field of form.querySelectorAll("[name]")) {
    if (!(field.name in known)) continue;
    if (field.type === "checkbox") field.checked = known[field.name];
    else field.value = known[field.name];
  }
  const list = form.querySelector("[data-list=declared]");
  for (const [box, cards] of Object.entries(list ? known.declared : {})) list.append(correction(box, cards.join(" ")));
}

function correction(box, was) {
  const row = document.createElement("div");
  row.dataset.correction = box;
  const cards = Object.assign(document.createElement("input"), { value: was, autocomplete: "off", spellcheck: false });
  cards.dataset.cards = "";
  cards.dataset.was = was;
  const nothing = Object.assign(document.createElement("input"), { type: "checkbox" });
  nothing.dataset.nothing = "";
  const name = document.createElement("label");
  name.append(`Box ${box} `, cards);
  const none = document.createElement("label");
  none.className = "check";
  none.append(nothing, " wins nothing");
  row.append(name, none);
  return row;
}

/** A token, or a half of one, is told once: it stays until whoever asked for it has taken it down. */
function showToken(answer, button) {
  const secret = answer.token ?? answer.half;
  const what = "half" in answer ? `Your half of the token of ${answer.operator}` : `The token of ${answer.operator}`;
  const box = document.createElement("div");
  const heading = Object.assign(document.createElement("h2"), { id: "ask-title", textContent: what });
  const token = Object.assign(document.createElement("input"), { value: secret ?? "", hidden: !secret, readOnly: true, className: "token" });
  token.setAttribute("aria-label", "half" in answer ? "Half of a token" : "Token");
  const note = Object.assign(document.createElement("p"), { textContent: secret ? explained(answer) : `Not here: ${answer.note}.` });
  const close = Object.assign(document.createElement("button"), { className: "primary", textContent: secret ? "I have taken it down" : "Close" });
  close.addEventListener("click", () => {
    dialog.close();
    if (button.dataset.then === "reload") go();
  });
  box.append(heading, note, token, close);
  dialog.replaceChildren(box);
  token.select();
}

function explained(answer) {
  if ("token" in answer) return `It is shown once, here. It ends on ${answer.expires_at.slice(0, 10)}.`;
  return "It is shown once, here. Hand it over yourself: they sign in with both halves and a dot between, yours and the other manager’s.";
}
