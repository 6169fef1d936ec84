"""How much a page itself works for each frame: in the processor's time, which no other program makes longer."""

import json
from bisect import bisect_left
from collections import Counter
from contextlib import contextmanager

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline"]


@contextmanager
def measured(chromium, *, painting=True):
    """The milliseconds of each frame that a page has drawn meanwhile: its script, style, layout and paint.

    Pixels are made by other threads; `painting` says whether their work counts as well. Of all pages of the browser,
    the one with the most frames is measured.
    """
    frames = []
    chromium.start_tracing(categories=CATEGORIES)
    try:
        yield frames
    finally:
        trace = json.loads(chromium.stop_tracing())["traceEvents"]
    frames += _frames([event for event in trace if event["ph"] == "X"], painting)


def _frames(events, painting):
    fired = [event for event in events if event["name"] == "FireAnimationFrame"]
    ((process, thread), _), *_ = Counter((event["pid"], event["tid"]) for event in fired).most_common()
    tasks = [event for event in events if event["name"] == "RunTask" and event["tid"] == thread]
    moments = sorted(event["ts"] for event in fired if event["tid"] == thread)
    ends = sorted(_end(task) for task in tasks if _holds(task, moments))
    pixels = [event for event in events if event["name"] == "RasterTask" and event["pid"] == process]
    taken = Counter(dict.fromkeys(range(len(ends)), 0))
    for work in (*tasks, *(pixels if painting else ())):
        taken[bisect_left(ends, _end(work))] += work["tdur"] / 1_000
    return list(taken.values())


def _end(event):
    return event["ts"] + event["dur"]


def _holds(task, moments):
    """Whether a frame began in this task: all that is drawn for a frame is drawn in one."""
    return bisect_left(moments, task["ts"]) < bisect_left(moments, _end(task))
