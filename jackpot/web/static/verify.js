// Verify the audit trail, chain by chain, and show each result.

const RETRY_MS = 3_000;
const TICK_MS = 250;
const button = document.getElementById("verify");
const status = document.getElementById("verify-status");
const progress = document.getElementById("verify-progress");
const rows = [...document.querySelectorAll("[data-chain]")];
const number = new Intl.NumberFormat("en-US");
const later = (ms) => new Promise((done) => setTimeout(done, ms));

function put(row, part, text, kind = "") {
  row.querySelector(`[data-part="${part}"]`).replaceChildren(Object.assign(document.createElement("span"), { textContent: text, className: kind }));
}

/** Fetch the result of one chain's verification; wait while another verification is running. */
async function fetchResult(chain) {
  for (;;) {
    const response = await fetch(`/api/v1/audit/verify?chain=${encodeURIComponent(chain)}`);
    const answer = await response.json();
    if (response.ok) return answer;
    if (answer.code !== "verification_running") throw new Error(answer.detail);
    status.textContent = "Another verification is running. This one starts after it.";
    await later(RETRY_MS);
  }
}

async function verify(row) {
  const began = performance.now();
  const tick = setInterval(() => put(row, "found", `Verifying, ${Math.round((performance.now() - began) / 1_000)} s …`), TICK_MS);
  put(row, "found", "Verifying …");
  try {
    const result = await fetchResult(row.dataset.chain);
    const [found] = result.chains;
    put(row, "at", "Just now");
    put(row, "events", number.format(found.events));
    put(row, "checkpoints", number.format(found.checkpoints));
    clearInterval(tick);
    if (result.ok) put(row, "found", "No errors", "good");
    else put(row, "found", `Wrong from event ${found.wrong_seq}: ${found.problem}`, "bad");
    return result.ok;
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
    status.textContent = `Verifying ${row.dataset.chain}, ${done + 1} of ${rows.length} …`;
    wrong += (await verify(row)) ? 0 : 1;
  }
  progress.value = rows.length;
  status.className = wrong ? "bad" : "good";
  status.textContent = wrong ? `Errors found in ${wrong} of ${rows.length} chains. Do not change the database, and call a manager.` : "No errors: every chain is unchanged since it was written.";
}

button.addEventListener("click", async () => {
  button.disabled = true;
  progress.hidden = false;
  status.className = "quiet-text";
  try {
    await verifyAll();
  } catch (error) {
    status.className = "bad";
    status.textContent = error instanceof TypeError ? "The controller cannot be reached. Try again." : `Not verified: ${error.message}.`;
  } finally {
    button.disabled = false;
    progress.hidden = true;
    button.focus();
  }
});
