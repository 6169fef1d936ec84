// Send an act to the API: a form's fields as JSON, with an idempotency key, as the signed-in operator.

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

/** A problem document of the API. */
export class Problem extends Error {
  constructor({ detail, code, status }) {
    super(detail);
    this.code = code;
    this.status = status;
  }
}

/** Parse dollars and cents, or a percentage with two decimals, as a whole number of hundredths; never a float. */
export function cents(text) {
  const match = /^\s*(-?)\$?\s*(\d[\d,]*)(?:\.(\d{1,2}))?\s*%?\s*$/.exec(text);
  if (!match) throw new Problem({ code: "malformed", status: 422, detail: `${text} is not an amount: write it like 12.34` });
  const [, sign, integer, decimals = ""] = match;
  return Number(`${sign}${integer.replaceAll(",", "")}${decimals.padEnd(2, "0")}`);
}

function whole(text) {
  if (!/^\s*\d+\s*$/.test(text)) throw new Problem({ code: "malformed", status: 422, detail: `${text} is not a number` });
  return Number(text);
}

/** The values of a form's fields, each converted by its data-kind. */
export function values(form) {
  const fields = {};
  for (const field of form.querySelectorAll("input[name], select[name], textarea[name]")) {
    if (field.dataset.kind === "each") {
      fields[field.name] = [...(fields[field.name] ?? []), ...(field.checked ? [field.value] : [])];
      continue;
    }
    const value = KINDS[field.dataset.kind ?? "text"](field);
    if (value !== undefined) fields[field.name] = value;
  }
  return fields;
}

/** A new idempotency key: the API carries out an act with the same key only once. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Send an act and return the API's answer; throw a Problem if it fails. With the same `key` it is carried out once.
 * A field that is named in the path (/operators/{name}/propose) is put there instead of into the body. */
export async function act(path, form, method = "POST", key = newKey(), body = undefined) {
  const fields = { ...(body ?? (form ? values(form) : {})) };
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = fields[name] ?? "";
    delete fields[name];
    return encodeURIComponent(value);
  });
  let response;
  try {
    response = await fetch(address, {
      method,
      headers: {
        "Content-Type": "application/json",
        "X-CSRF-Token": document.querySelector('meta[name="csrf"]')?.content ?? "",
        "Idempotency-Key": key,
      },
      body: method === "DELETE" ? undefined : JSON.stringify(fields),
    });
  } catch {
    throw new Problem({ code: "unreachable", status: 0, detail: "The controller cannot be reached. You can safely try again: it will be done only once." });
  }
  const answer = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Problem(answer);
  return answer;
}

/** The sentence to show for a problem. */
export function sentence(problem) {
  if (problem.status === 401) return "Your session has ended. Sign in again.";
  const text = problem.message;
  return text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "Something went wrong.";
}
