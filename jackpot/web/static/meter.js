// Decide which meter value may be shown: it falls only if a recorded event took money out of the pool.

/** Return true if position a (epoch, then seq) is older than b. */
function isOlder(a, b) {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

/** Classify meter messages, which may arrive in any order and with gaps, by what they mean for the shown value.
 *
 * A lower value is trusted if money last left the pool (`fall`) after the shown value: then a win, a void, a correction
 * or an adjustment explains it, however many messages were missed. Otherwise it is distrusted until a value arrives that
 * needs no explanation. */
export class Meter {
  #newest = null;
  #shown = null;

  /** The shown value in cents; null before the first message. */
  get cents() {
    return this.#shown?.amount_cents ?? null;
  }

  /** Return "ignored", "first", "risen" (or unchanged), "fallen" or "distrusted". */
  receive(message) {
    if (this.#newest !== null && isOlder(message, this.#newest)) return "ignored";
    this.#newest = message;
    const before = this.#shown;
    const rises = before === null || message.amount_cents >= before.amount_cents;
    if (!rises && !(message.fall !== null && message.fall.seq > before.seq)) return "distrusted";
    this.#shown = message;
    if (before === null) return "first";
    return rises ? "risen" : "fallen";
  }
}
