// Replace an element's HTML; the focus and open details stay, and the element fires a "patched" event.

const key = (element) =>
  element.id || (element.dataset.act && `${element.dataset.act} ${element.dataset.title}`) || element.getAttribute("href");

let isPressed = false; // a button that is replaced while the pointer is down would not be clicked
const deferred = new Map(); // element → HTML to set when the pointer is up

document.addEventListener("pointerdown", () => (isPressed = true), true);
for (const type of ["pointerup", "pointercancel"]) document.addEventListener(type, () => setTimeout(applyDeferred), true);

function applyDeferred() {
  isPressed = false;
  for (const [target, html] of deferred) apply(target, html);
  deferred.clear();
}

export function patchHtml(target, html) {
  if (isPressed) deferred.set(target, html);
  else apply(target, html);
}

function apply(target, html) {
  const focused = target.contains(document.activeElement) ? key(document.activeElement) : null;
  const opened = [...target.querySelectorAll("details[open][id]")].map((details) => details.id);
  target.innerHTML = html;
  for (const id of opened) target.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (focused) [...target.querySelectorAll("button, a, summary, input, select")].find((element) => key(element) === focused)?.focus();
  target.dispatchEvent(new Event("patched", { bubbles: true }));
}

/** Return true if the element already has this HTML, as the browser serializes it. */
export function hasHtml(target, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return target.innerHTML === template.innerHTML;
}
