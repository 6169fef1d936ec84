"""What a floor looks like in a terminal: the meter, the tables with their lamps, wins, counters, the reconciliation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.align import Align
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hardware_sim.floor import Snapshot, TableView
from hardware_sim.messages import ReceivedMeter, ReceivedWin
from hardware_sim.reconciliation import Comparison, Reconciliation

MAX_DIFFERENCES: Final = 20
FRAME_ROWS: Final = 12
"""Rows that are not tables: the meter, borders and headings."""

_GLYPHS: Final = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": (" ╻ ", " ┃ ", " ╹ "),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    "$": ("┏╋╸", "┗╋┓", "╺╋┛"),
    ",": (" ", " ", "╻"),
    ".": (" ", " ", "▪"),
    "-": ("  ", "╺╸", "  "),
}
_LAMPS: Final = {
    "lit": Text("●", "bold orange1"),
    "dark": Text("○", "grey50"),
    "folded": Text("◌", "orange3"),
    "offline": Text("✕", "bold red"),
}
_PHASES: Final = {"idle": "grey62", "open": "bold green", "closed": "cyan", "pending": "bold magenta", "unknown": "red"}


def money(cents: int) -> str:
    """Cents as people read them."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def drawn(now: Snapshot, title: str, height: int) -> RenderableType:
    """The whole floor."""
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(ratio=8)
    grid.add_column(ratio=7)
    rows = max(3, height - FRAME_ROWS)
    side = Group(_counters(now), Text(), _wins(now.wins[-max(3, rows - 9) :]))
    grid.add_row(_tables(now.tables, rows), side)
    return Group(_meter(now.meter, title), Text(), grid)


def progress(now: Snapshot) -> str:
    """The whole floor in one line, for a log."""
    meter = now.meter.text if now.meter else "unavailable"
    counts = f"{now.rounds} rounds, {now.sent} wagers, {now.verdicts.get('accepted', 0)} accepted"
    held_up = "".join(f", {told}" for told in waiting(now))
    return f"{now.seconds:6.0f} s  meter {meter}, {counts}, {now.repeated} repeats, {now.won} wins{held_up}"


def waiting(now: Snapshot) -> list[str]:
    """Which tables wait for a supervisor, and why."""
    told = [(view, f"is suspended ({view.suspended.replace('_', ' ')})") for view in now.tables if view.suspended]
    told += [(view, f"has a win in round {view.round} to confirm") for view in now.tables if view.phase == "pending"]
    return [f"{view.table} {why}" for view, why in told]


def reconciliation(result: Reconciliation) -> RenderableType:
    """Believed against booked, table by table, and every round that differs."""
    title = Text(f"What the pads believe against {result.books.source}", "bold")
    shown = _listing(expand=False)
    shown.add_column("table")
    for heading in ("rounds", "wagers believed", "wagers booked", "believed", "booked", "difference"):
        shown.add_column(heading, justify="right")
    for line in result.tables:
        shown.add_row(*_cells(line, line.table), style="" if line.is_equal else "bold red")
    shown.add_section()
    shown.add_row(*_cells(result.total, "all"), style="bold")
    parts: list[RenderableType] = [title, shown]
    parts += [_difference(line) for line in result.differences[:MAX_DIFFERENCES]]
    parts += [f"contradiction: {told}" for told in result.contradictions[:MAX_DIFFERENCES]]
    if result.books.is_wire:
        parts.append(Text("A supervisor's void does not show on the wire; the books know it (--config).", "grey62"))
    return Group(*parts, verdict(result))


def verdict(result: Reconciliation) -> Text:
    """The reconciliation in one sentence."""
    if result.is_equal:
        total = result.total.believed
        sums = f"{total.wagers} wagers, {money(total.cents)}"
        if result.books.is_wire:
            return Text(
                f"Equal to the cent on the wire: {sums}; the controller's books were not looked at.", "bold yellow"
            )
        return Text(f"Equal to the cent: {sums}.", "bold green")
    unanswered = f", {result.unanswered} wagers without an answer" if result.unanswered else ""
    contradicted = f", {len(result.contradictions)} contradictions" if result.contradictions else ""
    off = money(result.total.difference_cents)
    return Text(f"Different: {len(result.differences)} rounds, {off} in all{unanswered}{contradicted}.", "bold red")


def _difference(line: Comparison) -> str:
    """What differs in a round, and at which boxes where that is known."""
    where = f"{line.table} round {line.round}"
    sums = [
        f"{said} {told.wagers} wagers, {money(told.cents)}"
        for said, told in (("believed", line.believed), ("booked", line.booked))
    ]
    said = [f"{where}: {'; '.join(sums)}"]
    said += [f"{where} box {w.box}: {w.wager_id} of {money(w.cents)} is not booked" for w in line.not_booked]
    said += [f"{where} box {w.box}: {w.wager_id} of {money(w.cents)} is not believed" for w in line.not_believed]
    return "\n".join(said)


def _listing(*, expand: bool = True) -> Table:
    return Table(
        header_style="bold", border_style="grey37",
        box=SIMPLE_HEAD, show_edge=False, expand=expand, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip


def _cells(line: Comparison, name: str) -> list[str]:
    cells = [line.rounds, line.believed.wagers, line.booked.wagers]
    amounts = [line.believed.cents, line.booked.cents, line.difference_cents]
    return [name, *map(str, cells), *map(money, amounts)]


def _meter(meter: ReceivedMeter | None, title: str) -> Panel:
    if meter is None:
        body = Text("\nmeter unavailable\n", "bold red", justify="center")
        return Panel(body, title=title, border_style="red")
    rows = [" ".join(_GLYPHS.get(sign, (sign,) * 3)[row] for sign in meter.text) for row in range(3)]
    style = "bold orange1" if meter.state == "live" else "bold grey62"
    waits = f" · {meter.pending} awaiting confirmation" if meter.pending else ""
    return Panel(
        Align.center(Text("\n".join(rows), style, no_wrap=True)),
        title=title,
        subtitle=f"{meter.state}{waits} · epoch {meter.position.epoch} seq {meter.position.seq}",
        border_style="orange1",
    )


def _tables(views: tuple[TableView, ...], rows: int) -> Table:
    shown = _listing()
    shown.add_column("table", no_wrap=True)
    shown.add_column("round", justify="right", no_wrap=True)
    shown.add_column("phase", no_wrap=True, min_width=11)
    shown.add_column("boxes", no_wrap=True)
    shown.add_column("wagered", justify="right", no_wrap=True)
    for view in views[:rows]:
        lamps = Text(" ").join(_LAMPS[box] for box in view.boxes)
        shown.add_row(view.table, str(view.round), _phase(view), lamps, money(view.wagered_cents))
    if len(views) > rows:
        shown.add_row("…", "", f"and {len(views) - rows} more", "", "")
    return shown


def _phase(view: TableView) -> Text:
    """A table's phase, or why it is suspended."""
    if view.suspended:
        return Text(view.suspended.replace("_", " "), "bold red")
    return Text(view.phase, _PHASES.get(view.phase, ""))


def _counters(now: Snapshot) -> Table:
    shown = Table.grid(expand=True, padding=(0, 1))
    shown.add_column()
    shown.add_column(justify="right")
    rejected = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(now.rejected.items()))
    faults = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(now.faults.items()))
    accepted, returned = now.verdicts.get("accepted", 0), now.verdicts.get("returned", 0)
    per_minute = 60 * now.rounds / now.seconds if now.seconds > 1 else 0
    shown.add_row("rounds", f"{now.rounds} ({per_minute:.0f} a minute)")
    shown.add_row("wagers", f"{now.sent} ({accepted} accepted, {returned} returned)")
    shown.add_row("rejected", Text(rejected or "none"))
    shown.add_row("commands", str(now.commands))
    shown.add_row("repeats", f"{now.repeated} ({now.unanswered} unanswered)")
    if faults:
        shown.add_row("faults", Text(faults))
    shown.add_row("devices", f"{now.online} of {now.devices} online")
    return shown


def _wins(wins: Iterable[ReceivedWin]) -> Table:
    shown = _listing()
    shown.add_column("wins", no_wrap=True, ratio=1)
    shown.add_column("at", no_wrap=True)
    shown.add_column("prize", justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for win in reversed(tuple(wins)):
        style = {"pending": "bold magenta", "corrected": "strike"}.get(win.status, "")
        where, hand = f"{win.table}/{win.box}", win.hand.replace("_", " ")
        shown.add_row(hand, where, money(win.amount_cents), win.status, style=style)
    return shown
