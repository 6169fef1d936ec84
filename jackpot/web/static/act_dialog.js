// The dialog of an act: explains it, asks for its fields, sends it, and shows a problem or a new token.

import { act, newKey, sentence, values } from "./acts.js";
import { navigate } from "./navigation.js";

const dialog = document.getElementById("act-dialog");

/** Open the dialog of a button's act; call `onDone` with the API's answer after it was carried out. */
export function openActDialog(button, onDone) {
  const { act: path, title, dialog: template, method } = button.dataset;
  const initial = JSON.parse(button.dataset.values || "{}");
  const key = newKey();
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = Object.assign(document.createElement("h2"), { id: "dialog-title", textContent: title });
  const problem = Object.assign(document.createElement("p"), { className: "problem" });
  problem.setAttribute("role", "alert");
  form.append(heading, document.getElementById(template || "dialog-plain").content.cloneNode(true), problem, buttons());
  fill(form, initial);
  dialog.replaceChildren(form);
  form.addEventListener("submit", async (event) => {
    if (event.submitter?.value === "cancel") return;
    event.preventDefault();
    form.setAttribute("aria-busy", "true");
    problem.textContent = "";
    try {
      const answer = await act(path, form, method, key, body(form));
      if ("token" in answer || "half" in answer) showToken(answer, button);
      else dialog.close();
      onDone(answer);
    } catch (error) {
      problem.textContent = sentence(error);
    } finally {
      form.removeAttribute("aria-busy");
    }
  });
  dialog.showModal();
  (form.querySelector("[autofocus]") ?? form.querySelector("input, select, textarea") ?? form.querySelector("button")).focus();
}

/** The form's values, and the hands that were changed in the dialog of a correction. */
function body(form) {
  const fields = values(form);
  if (!form.querySelector("[data-correction]")) return fields;
  const hands = {};
  for (const row of form.querySelectorAll("[data-correction]")) {
    const cards = row.querySelector("[data-cards]");
    const winsNothing = row.querySelector("[data-nothing]").checked;
    const entered = cards.value.trim().split(/[\s,]+/).filter(Boolean);
    if (winsNothing) hands[row.dataset.correction] = null;
    else if (entered.join(" ") !== cards.dataset.declared) hands[row.dataset.correction] = entered;
  }
  return { ...fields, hands };
}

function buttons() {
  const row = document.createElement("p");
  row.className = "acts";
  const confirm = Object.assign(document.createElement("button"), { className: "primary", value: "confirm", textContent: "Do it" });
  const cancel = Object.assign(document.createElement("button"), { className: "quiet", value: "cancel", textContent: "Cancel", formNoValidate: true });
  row.append(confirm, cancel);
  return row;
}

function fill(form, initial) {
  for (const place of form.querySelectorAll("[data-value]")) place.textContent = initial[place.dataset.value] ?? "";
  for (const field of form.querySelectorAll("[name]")) {
    if (!(field.name in initial)) continue;
    if (field.type === "checkbox") field.checked = initial[field.name];
    else field.value = initial[field.name];
  }
  const list = form.querySelector("[data-list=declared]");
  for (const [box, cards] of Object.entries(list ? initial.declared : {})) list.append(correction(box, cards.join(" ")));
}

function correction(box, declared) {
  const row = document.createElement("div");
  row.dataset.correction = box;
  const cards = Object.assign(document.createElement("input"), { value: declared, autocomplete: "off", spellcheck: false });
  cards.dataset.cards = "";
  cards.dataset.declared = declared;
  const nothing = Object.assign(document.createElement("input"), { type: "checkbox" });
  nothing.dataset.nothing = "";
  const name = document.createElement("label");
  name.append(`Box ${box} `, cards);
  const winsNothing = document.createElement("label");
  winsNothing.className = "check";
  winsNothing.append(nothing, " No win");
  row.append(name, winsNothing);
  return row;
}

/** Show a new token, or half of one; the API returns it only once, so it stays until the user closes the dialog. */
function showToken(answer, button) {
  const secret = answer.token ?? answer.half;
  const title = "half" in answer ? `Your half of the token for ${answer.operator}` : `Token for ${answer.operator}`;
  const box = document.createElement("div");
  const heading = Object.assign(document.createElement("h2"), { id: "dialog-title", textContent: title });
  const token = Object.assign(document.createElement("input"), { value: secret ?? "", hidden: !secret, readOnly: true, className: "token" });
  token.setAttribute("aria-label", "half" in answer ? "Half of a token" : "Token");
  const note = Object.assign(document.createElement("p"), { textContent: secret ? explanation(answer) : `Not shown: ${answer.note}.` });
  const close = Object.assign(document.createElement("button"), { className: "primary", textContent: secret ? "I have copied it" : "Close" });
  close.addEventListener("click", () => {
    dialog.close();
    if (button.dataset.then === "reload") navigate();
  });
  box.append(heading, note, token, close);
  dialog.replaceChildren(box);
  token.select();
}

function explanation(answer) {
  if ("token" in answer) return `This token is shown only once. It expires on ${answer.expires_at.slice(0, 10)}.`;
  return "This half is shown only once. Hand it over in person. The new token is both halves with a dot between them.";
}
