// An odometer of digit strips. They are moved by transforms only, so that rolling needs no layout and no repaint.

const SVG = "http://www.w3.org/2000/svg";
const STRIP_DIGITS = 11; // 0 to 9, then 0 again
const SPRING = 6; // per second: it takes about a second to reach a value
const FALL_MS = 1_600;
const MIN_DIGITS = 3;
// Widths as fractions of the height, the same as in display.css.
const DIGIT = 0.68;
const POINT = 0.26;
const DOLLAR = 0.66;

const SIGNS = {
  $: ["dollar", "dollar", DOLLAR],
  ",": ["comma", "point", POINT],
  ".": ["point", "point", POINT],
};

function glyph(name, className) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${name}`);
  svg.setAttribute("class", className);
  svg.append(use);
  return svg;
}

function boxed(className, child) {
  const box = document.createElement("span");
  box.className = className;
  box.append(child);
  return box;
}

function digitsOf(cents) {
  return Math.max(MIN_DIGITS, String(cents).length);
}

/** The position of each strip, lowest digit first, at a value that may lie between two cents. As in a mechanical
 * odometer, a digit moves while the digit below it turns from 9 to 0. */
export function positions(value, count) {
  const found = [];
  let below = 0;
  for (let k = 0; k < count; k++) {
    const digit = Math.floor(value / 10 ** k) % 10;
    const turned = k === 0 ? value - Math.floor(value) : Math.max(0, below - 9);
    below = digit + turned;
    found.push(below);
  }
  return found;
}

/** Write an amount such as $10,001.40 in the same numerals, without motion. */
export function spell(root, text) {
  let width = 0;
  const row = [...text].map((sign) => {
    const [name, className, wide] = SIGNS[sign] ?? [`n${sign}`, "numeral", DIGIT];
    width += wide;
    return boxed(className, glyph(name, "glyph"));
  });
  root.style.setProperty("--width", width.toFixed(2));
  root.replaceChildren(...row);
}

export class Odometer {
  #root;
  #strips = []; // lowest digit first
  #drawn = [];
  #target = null;
  #value = 0;
  #speed = 0; // cents per second
  #fall = null; // {from, to, began}
  #ticking = false;
  #last = 0;

  constructor(root) {
    this.#root = root;
  }

  /** Show a value without motion. */
  set(cents) {
    this.#aim(cents);
    this.#value = cents;
    this.#speed = 0;
    this.#fall = null;
    this.#build(digitsOf(cents));
    this.#draw(positions(cents, this.#strips.length));
    this.#root.dataset.rolling = "false";
  }

  /** Roll forward to a value. */
  roll(cents) {
    this.#aim(cents);
    if (digitsOf(cents) > this.#strips.length) this.#build(digitsOf(cents));
    this.#tick();
  }

  /** Roll back to a lower value, then on to the newest target. */
  fall(cents) {
    this.#aim(cents);
    this.#fall = { from: this.#value, to: cents, began: performance.now() };
    this.#tick();
  }

  #aim(cents) {
    this.#target = cents;
    this.#root.dataset.cents = String(cents);
    this.#root.dataset.rolling = "true";
  }

  #tick() {
    if (!this.#ticking) {
      this.#ticking = true;
      this.#last = performance.now();
      requestAnimationFrame((now) => this.#frame(now));
    }
  }

  #frame(now) {
    const seconds = Math.max(0, now - this.#last) / 1_000;
    this.#last = now;
    const isMoving = this.#fall ? this.#rollBack(now) : this.#rollOn(seconds);
    if (isMoving) {
      requestAnimationFrame((next) => this.#frame(next));
    } else {
      this.#ticking = false;
      this.#root.dataset.rolling = "false";
    }
  }

  // A critically damped spring in closed form: smooth while the target moves, and it never overshoots.
  #rollOn(seconds) {
    const left = this.#target - this.#value;
    const pull = SPRING * left - this.#speed;
    const fade = Math.exp(-SPRING * seconds);
    const leftThen = (left + pull * seconds) * fade;
    this.#speed = (this.#speed + SPRING * pull * seconds) * fade;
    this.#value = Math.min(this.#target, Math.max(this.#value, this.#target - leftThen));
    const isThere = this.#target - this.#value < 0.4 && this.#speed < 4;
    if (isThere) {
      this.#value = this.#target;
      this.#speed = 0;
    }
    this.#draw(positions(this.#value, this.#strips.length));
    return !isThere;
  }

  #rollBack(now) {
    const { from, to, began } = this.#fall;
    const part = Math.min(1, Math.max(0, now - began) / FALL_MS);
    this.#value = to + Math.max(0, from - to) * (1 - part) ** 3;
    this.#speed = 0;
    if (part === 1) {
      this.#fall = null;
      this.#build(digitsOf(this.#target));
    }
    this.#draw(positions(this.#value, this.#strips.length));
    return part < 1 || this.#target !== to;
  }

  #build(count) {
    if (count === this.#strips.length) return;
    const row = [boxed("dollar", glyph("dollar", "glyph"))];
    const strips = [];
    let width = DOLLAR;
    for (let k = count - 1; k >= 0; k--) {
      strips[k] = glyph("strip", "strip");
      row.push(boxed(k < 2 ? "cell cents" : "cell", strips[k]));
      width += DIGIT;
      if (k === 2 || (k > 4 && (k - 2) % 3 === 0)) {
        row.push(boxed("point", glyph(k === 2 ? "point" : "comma", "glyph")));
        width += POINT;
      }
    }
    this.#strips = strips;
    this.#drawn = [];
    this.#root.style.setProperty("--width", width.toFixed(2));
    this.#root.replaceChildren(...row);
  }

  #draw(at) {
    for (let k = 0; k < this.#strips.length; k++) {
      if (this.#drawn[k] === at[k]) continue;
      this.#strips[k].style.transform = `translate3d(0, ${((-100 * at[k]) / STRIP_DIGITS).toFixed(4)}%, 0)`;
    }
    this.#drawn = at;
    this.#blankLeading(at);
  }

  // Hide leading zeros and their commas.
  #blankLeading(at) {
    let isBlank = true;
    for (let k = at.length - 1; k >= 0; k--) {
      isBlank = isBlank && k >= MIN_DIGITS && at[k] === 0;
      const cell = this.#strips[k].parentElement;
      if (cell.classList.contains("blank") !== isBlank) {
        cell.classList.toggle("blank", isBlank);
        const next = cell.nextElementSibling;
        if (next?.classList.contains("point")) next.classList.toggle("blank", isBlank);
      }
    }
  }
}
