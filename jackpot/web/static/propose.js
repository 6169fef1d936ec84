// Preview what a proposed configuration would do while the form is filled in.

import { values } from "./acts.js";

const DEBOUNCE_MS = 250;
const form = () => document.getElementById("config-form"); // looked up each time: a refresh replaces it
const figure = (name) => form().querySelector(`[data-figure="${name}"]`);
const money = (cents) => `$${Math.floor(cents / 100).toLocaleString("en-US")}.${String(cents % 100).padStart(2, "0")}`;
let newest = 0; // number of the newest preview; answers to older ones are dropped

/** Set the reserve's share to the rest of the jackpot pool's. */
function fillReserveShare() {
  const { jackpot_bps: bps } = values(form());
  if (bps === undefined || bps < 0 || bps > 10_000) throw new Error("the share must be from 0 to 100");
  form().elements.reserve_bps.value = ((10_000 - bps) / 100).toFixed(2).replace(/\.?0+$/, "");
}

function showFigures(odds) {
  const loses = odds.reserve_drift_per_wager_decimal.startsWith("-");
  const amount = odds.reserve_drift_per_wager_decimal.replace("-", "");
  figure("drift").textContent = `${loses ? "loses" : "gains"} $${amount}`;
  figure("drift").className = odds.reserve_starves ? "bad" : "good";
  figure("break_even").textContent = money(odds.break_even_meter_cents);
  figure("mean_pool").textContent = money(odds.mean_pool_at_royal_cents);
  showWarning(odds.reserve_starves ? `The reserve would lose $${amount} per wager on average. It would run dry, and the house would have to advance money.` : "");
}

function showWarning(text) {
  figure("warning").textContent = text;
  figure("warning").hidden = !text;
}

function fillFigures(text) {
  for (const name of ["drift", "break_even", "mean_pool"]) {
    figure(name).textContent = text;
    figure(name).className = "";
  }
}

async function preview(number) {
  fillFigures("…");
  try {
    fillReserveShare();
    const { wager_cents, jackpot_bps, reset_cents, fixed_prizes_from } = values(form());
    const query = new URLSearchParams({ wager_cents, jackpot_bps, reset_cents, fixed_prizes_from });
    const response = await fetch(`${form().dataset.odds}&${query}`);
    const answer = await response.json();
    if (number !== newest) return;
    if (response.ok) showFigures(answer);
    else throw new Error(answer.detail);
  } catch (error) {
    if (number !== newest) return;
    fillFigures("–");
    showWarning(error instanceof TypeError ? "The controller cannot be reached." : `No preview: ${error.message}.`);
  }
}

document.addEventListener("input", (event) => {
  if (event.target.form?.id !== "config-form" || ["reason", "confirm"].includes(event.target.name)) return;
  const number = ++newest;
  setTimeout(() => number === newest && preview(number), DEBOUNCE_MS);
});
