// New HTML into an old place, which hears "swapped": the keyboard stays where it was, and what was opened stays open.

const mark = (one) => one.id || (one.dataset.act && `${one.dataset.act} ${one.dataset.title}`) || one.getAttribute("href");

let isPressed = false; // a button that is exchanged while a finger is on it would not be clicked
const waiting = new Map();

document.addEventListener("pointerdown", () => (isPressed = true), true);
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => setTimeout(release), true);

function release() {
  isPressed = false;
  for (const [target, html] of waiting) put(target, html);
  waiting.clear();
}

export function swap(target, html) {
  if (isPressed) waiting.set(target, html);
  else put(target, html);
}

function put(target, html) {
  const focused = target.contains(document.activeElement) ? mark(document.activeElement) : null;
  const opened = [...target.querySelectorAll("details[open][id]")].map((one) => one.id);
  target.innerHTML = html;
  for (const id of opened) target.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (focused) [...target.querySelectorAll("button, a, summary, input, select")].find((one) => mark(one) === focused)?.focus();
  target.dispatchEvent(new Event("swapped", { bubbles: true }));
}

/** Whether a place already shows this, however the browser writes it. */
export function shows(target, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return target.innerHTML === template.innerHTML;
}
