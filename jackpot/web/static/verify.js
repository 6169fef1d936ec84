// Verifying the trail from its page: chain by chain, with what each gave, while the floor plays.

const AGAIN_MS = 3_000;
const TICK_MS = 250;
const button = document.getElementById("verify");
const said = document.getElementById("verify-said");
const progress = document.getElementById("verify-progress");
const rows = [...document.querySelectorAll("[data-chain]")];
const number = new Intl.NumberFormat("en-US");
const later = (ms) => new Promise((done) => setTimeout(done, ms));

function put(row, part, text, kind = "") {
  row.querySelector(`[data-part="${part}"]`).replaceChildren(Object.assign(document.createElement("span"), { textContent: text, className: kind }));
}

/** What verification of one chain found; where another verification runs, this one waits for it. */
async function ask(chain) {
  for (;;) {
    const response = await fetch(`/api/v1/audit/verify?chain=${encodeURIComponent(chain)}`);
    const told = await response.json();
    if (response.ok) return told;
    if (told.code !== "verification_running") throw new Error(told.detail);
    said.textContent = "Another verification is running. This one waits for it.";
    await later(AGAIN_MS);
  }
}

async function verify(row) {
  const began = performance.now();
  const tick = setInterval(() => put(row, "found", `Verifying for ${Math.round((performance.now() - began) / 1_000)} s …`), TICK_MS);
  put(row, "found", "Verifying …");
  try {
    const told = await ask(row.dataset.chain);
    const [found] = told.chains;
    put(row, "at", "Just now");
    put(row, "events", number.format(found.events));
    put(row, "checkpoints", number.format(found.checkpoints));
    clearInterval(tick);
    if (told.ok) put(row, "found", "Nothing wrong", "good");
    else put(row, "found", `Wrong from event ${found.wrong_seq}: ${found.problem}`, "bad");
    return told.ok;
  } catch (error) {
    clearInterval(tick);
    put(row, "found", "Not verified", "bad");
    throw error;
  } finally {
    clearInterval(tick);
  }
}

async function verifyAll() {
  let wrong = 0;
  for (const [done, row] of rows.entries()) {
    progress.value = done;
    said.textContent = `Verifying ${row.dataset.chain}, ${done + 1} of ${rows.length} …`;
    wrong += (await verify(row)) ? 0 : 1;
  }
  progress.value = rows.length;
  said.className = wrong ? "bad" : "good";
  said.textContent = wrong ? `${wrong} of ${rows.length} chains are not as they were written. Keep the database as it is and tell a manager.` : "Nothing is wrong: every chain is as it was written.";
}

button.addEventListener("click", async () => {
  button.disabled = true;
  progress.hidden = false;
  said.className = "quiet-text";
  try {
    await verifyAll();
  } catch (error) {
    said.className = "bad";
    said.textContent = error instanceof TypeError ? "The controller is not reached. Try again." : `Not verified: ${error.message}.`;
  } finally {
    button.disabled = false;
    progress.hidden = true;
    button.focus();
  }
});
