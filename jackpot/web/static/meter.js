// Which value may be shown: a meter never runs backwards, except where a recorded act took money out of the pool.

/** Whether mark a (epoch, then seq) is older than b. */
function isOlder(a, b) {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

/** Hears meters in any order, with anything missing, and says of each what it means for the value that is shown.
 *
 * A lower value is believed where money last left the pool (`fall`) after the value that is shown: then a win, a void, a
 * correction or an adjustment explains it, however many messages were missed. Otherwise it is distrusted until a value
 * comes that needs no explanation. */
export class Meter {
  #newest = null;
  #shown = null;

  /** The value that is shown, in cents; null before the first. */
  get cents() {
    return this.#shown?.amount_cents ?? null;
  }

  /** "ignored", "first", "risen" (or the same), "fallen" or "distrusted". */
  hear(told) {
    if (this.#newest !== null && isOlder(told, this.#newest)) return "ignored";
    this.#newest = told;
    const before = this.#shown;
    const rises = before === null || told.amount_cents >= before.amount_cents;
    if (!rises && !(told.fall !== null && told.fall.seq > before.seq)) return "distrusted";
    this.#shown = told;
    if (before === null) return "first";
    return rises ? "risen" : "fallen";
  }
}
