// Subscribe to a live feed (server-sent events): handle fragments as they change, and notice when the feed falls silent.

export const SILENCE_MS = 10_000;
const RETRY_MS = 2_000;
const CHECK_MS = 1_000;

/** Subscribe to the feed at `url`. `handlers[kind](body, name)` handles each fragment. `onLost()` is called when the feed
 * is silent or the controller stops it, `onRestored()` at the next event, `onRefused()` when the controller refuses it.
 * The feed is opened again for as long as the page exists. */
export function subscribe(url, handlers, { onLost, onRestored, onRefused = () => {} }) {
  let source = null;
  let receivedAt = performance.now();
  let isLost = false;

  function receive(kind, event) {
    receivedAt = performance.now();
    if (kind === "goodbye") {
      markLost();
      return;
    }
    if (isLost) {
      isLost = false;
      onRestored();
    }
    const { name, body } = JSON.parse(event.data);
    handlers[kind]?.(body, name);
  }

  function markLost() {
    if (!isLost) {
      isLost = true;
      onLost();
    }
  }

  function open() {
    source?.close();
    const opened = new EventSource(url);
    for (const kind of new Set(["hello", "heartbeat", "goodbye", ...Object.keys(handlers)])) {
      opened.addEventListener(kind, (event) => receive(kind, event));
    }
    opened.onerror = () => {
      // The browser reconnects after a lost connection, but not after a refusal.
      if (opened === source && opened.readyState === EventSource.CLOSED) {
        onRefused();
        setTimeout(() => opened === source && open(), RETRY_MS * (1 + Math.random()));
      }
    };
    source = opened;
  }

  open();
  setInterval(() => {
    if (performance.now() - receivedAt > SILENCE_MS) {
      markLost();
      receivedAt = performance.now();
      open();
    }
  }, CHECK_MS);
}
