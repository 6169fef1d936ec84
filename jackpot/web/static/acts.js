// Acts: a form's fields as JSON to the API, in the name of whoever is signed in, once however often it is sent.

const KINDS = {
  text: (field) => field.value.trim(),
  bool: (field) => field.checked,
  number: (field) => whole(field.value),
  numbers: (field) => (field.value.trim() ? field.value.split(/[\s,]+/).filter(Boolean).map(whole) : undefined),
  cents: (field) => (field.value.trim() ? cents(field.value) : undefined),
  optional: (field) => (field.value.trim() === "" ? undefined : field.value.trim()),
  integer: (field) => (field.value.trim() === "" ? undefined : whole(field.value)),
  bps: (field) => (field.value.trim() === "" ? undefined : cents(field.value)),
  cards: (field) => field.value.trim().split(/[\s,]+/).filter(Boolean),
  words: (field) => field.value.trim().split(/[\s,]+/).filter(Boolean),
};

/** What went wrong, as the controller told it. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail);
    this.code = told.code;
    this.status = told.status;
  }
}

/** Whole dollars and cents, or a percentage with two digits, without ever being a fraction of a machine's number. */
export function cents(text) {
  const match = /^\s*(-?)\$?\s*(\d[\d,]*)(?:\.(\d{1,2}))?\s*%?\s*$/.exec(text);
  if (!match) throw new Problem({ code: "malformed", status: 422, detail: `${text} is not an amount: write 12.34` });
  const [, sign, whole, rest = ""] = match;
  return Number(`${sign}${whole.replaceAll(",", "")}${rest.padEnd(2, "0")}`);
}

function whole(text) {
  if (!/^\s*\d+\s*$/.test(text)) throw new Problem({ code: "malformed", status: 422, detail: `${text} is not a number` });
  return Number(text);
}

/** What a form says. */
export function values(form) {
  const said = {};
  for (const field of form.querySelectorAll("input[name], select[name], textarea[name]")) {
    if (field.dataset.kind === "each") {
      said[field.name] = [...(said[field.name] ?? []), ...(field.checked ? [field.value] : [])];
      continue;
    }
    const value = KINDS[field.dataset.kind ?? "text"](field);
    if (value !== undefined) said[field.name] = value;
  }
  return said;
}

/** A key under which a repeat of the same act is known. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Do it; what goes wrong is a Problem. The same `key` again does it no second time. A field named in the path
 * (/operators/{name}/propose) stands there. */
export async function act(path, form, method = "POST", key = newKey(), body = undefined) {
  const said = { ...(body ?? (form ? values(form) : {})) };
  const where = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = said[name] ?? "";
    delete said[name];
    return encodeURIComponent(value);
  });
  let response;
  try {
    response = await fetch(where, {
      method,
      headers: {
        "Content-Type": "application/json",
        "X-CSRF-Token": document.querySelector('meta[name="csrf"]')?.content ?? "",
        "Idempotency-Key": key,
      },
      body: method === "DELETE" ? undefined : JSON.stringify(said),
    });
  } catch {
    throw new Problem({ code: "unreachable", status: 0, detail: "The controller is not reached. Try again: it acts once." });
  }
  const told = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Problem(told);
  return told;
}

/** A problem as a sentence. */
export function sentence(problem) {
  if (problem.status === 401) return "Your session has ended: sign in again.";
  const text = problem.message;
  return text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "It went wrong.";
}
