// A live feed: named fragments as they change, and a word when nothing is heard any more.

export const SILENCE_MS = 10_000;
const AGAIN_MS = 2_000;

/** Listen at `url`. `heard[kind](body, name)` takes each fragment; `lost()` is called when the feed is silent or says
 * goodbye, `found()` when it speaks again, `refused()` when it is not to be had. It is opened again for as long as the
 * page lives. */
export function listen(url, heard, { lost, found, refused = () => {} }) {
  let source = null;
  let heardAt = performance.now();
  let isLost = false;

  function said(kind, event) {
    heardAt = performance.now();
    if (kind === "goodbye") {
      lose();
      return;
    }
    if (isLost) {
      isLost = false;
      found();
    }
    const { name, body } = JSON.parse(event.data);
    heard[kind]?.(body, name);
  }

  function lose() {
    if (!isLost) {
      isLost = true;
      lost();
    }
  }

  function open() {
    source?.close();
    const opened = new EventSource(url);
    for (const kind of new Set(["hello", "heartbeat", "goodbye", ...Object.keys(heard)])) {
      opened.addEventListener(kind, (event) => said(kind, event));
    }
    opened.onerror = () => {
      // A refusal ends it for good, and a lost connection does not: the browser mends that by itself.
      if (opened === source && opened.readyState === EventSource.CLOSED) {
        refused();
        setTimeout(() => opened === source && open(), AGAIN_MS * (1 + Math.random()));
      }
    };
    source = opened;
  }

  open();
  setInterval(() => {
    if (performance.now() - heardAt > SILENCE_MS) {
      lose();
      heardAt = performance.now();
      open();
    }
  }, 1_000);
}
