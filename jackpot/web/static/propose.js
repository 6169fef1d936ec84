// What a proposed configuration would do, while it is being written.

import { values } from "./acts.js";

const WAIT_MS = 250;
const form = () => document.getElementById("config-form"); // it is made anew when another configuration comes into force
const figure = (name) => form().querySelector(`[data-figure="${name}"]`);
const money = (cents) => `$${Math.floor(cents / 100).toLocaleString("en-US")}.${String(cents % 100).padStart(2, "0")}`;
let asked = 0;

/** What the jackpot pool does not get, the reserve does. */
function share() {
  const { jackpot_bps: bps } = values(form());
  if (bps === undefined || bps < 0 || bps > 10_000) throw new Error("a share is from 0 to 100");
  form().elements.reserve_bps.value = ((10_000 - bps) / 100).toFixed(2).replace(/\.?0+$/, "");
}

function tell(odds) {
  const loses = odds.reserve_drift_per_wager_decimal.startsWith("-");
  const amount = odds.reserve_drift_per_wager_decimal.replace("-", "");
  figure("drift").textContent = `${loses ? "loses" : "gains"} $${amount}`;
  figure("drift").className = odds.reserve_starves ? "bad" : "good";
  figure("break_even").textContent = money(odds.break_even_meter_cents);
  figure("mean_pool").textContent = money(odds.mean_pool_at_royal_cents);
  say(odds.reserve_starves ? `The reserve would lose $${amount} a wager on average: it would starve, and the house would have to advance.` : "");
}

function say(text) {
  figure("warning").textContent = text;
  figure("warning").hidden = !text;
}

function blank(text) {
  for (const name of ["drift", "break_even", "mean_pool"]) {
    figure(name).textContent = text;
    figure(name).className = "";
  }
}

async function preview(mine) {
  blank("…");
  try {
    share();
    const { wager_cents, jackpot_bps, reset_cents, fixed_prizes_from } = values(form());
    const query = new URLSearchParams({ wager_cents, jackpot_bps, reset_cents, fixed_prizes_from });
    const response = await fetch(`${form().dataset.odds}&${query}`);
    const told = await response.json();
    if (mine !== asked) return;
    if (response.ok) tell(told);
    else throw new Error(told.detail);
  } catch (error) {
    if (mine !== asked) return;
    blank("–");
    say(error instanceof TypeError ? "The controller is not reached." : `Not known: ${error.message}.`);
  }
}

document.addEventListener("input", (event) => {
  if (event.target.form?.id !== "config-form" || ["reason", "confirm"].includes(event.target.name)) return;
  const mine = ++asked;
  setTimeout(() => mine === asked && preview(mine), WAIT_MS);
});
