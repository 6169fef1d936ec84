"""Measure a page's work for each frame, in CPU time: other programs do not make it longer."""

import json
from bisect import bisect_left
from collections import Counter
from contextlib import contextmanager

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline"]


@contextmanager
def measured(chromium, *, painting=True):
    """Collect the CPU milliseconds of each frame that is drawn in this block: script, style, layout and paint.

    Other threads rasterize; with `painting` their work counts too. The page with the most frames is measured.
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
    ends = sorted(_end(task) for task in tasks if _contains_frame(task, moments))
    raster = [event for event in events if event["name"] == "RasterTask" and event["pid"] == process]
    spent = Counter(dict.fromkeys(range(len(ends)), 0))
    for work in (*tasks, *(raster if painting else ())):
        spent[bisect_left(ends, _end(work))] += work["tdur"] / 1_000
    return list(spent.values())


def _end(event):
    return event["ts"] + event["dur"]


def _contains_frame(task, moments):
    """Return True if a frame began in this task; one task draws a whole frame."""
    return bisect_left(moments, task["ts"]) < bisect_left(moments, _end(task))
