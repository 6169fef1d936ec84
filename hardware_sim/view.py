"""A floor as text for the terminal: the meter, the tables with their lamps, wins, counters, the reconciliation."""

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
"""The number of rows for the meter, borders and headings."""

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
    """Return an amount in dollars and cents."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def draw_floor(snapshot: Snapshot, title: str, height: int) -> RenderableType:
    """Return a picture of the whole floor."""
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(ratio=8)
    grid.add_column(ratio=7)
    rows = max(3, height - FRAME_ROWS)
    side = Group(_counters(snapshot), Text(), _wins(snapshot.wins[-max(3, rows - 9) :]))
    grid.add_row(_tables(snapshot.tables, rows), side)
    return Group(_meter(snapshot.meter, title), Text(), grid)


def progress(snapshot: Snapshot) -> str:
    """Return the state of the whole floor in one line, for a log."""
    meter = snapshot.meter.text if snapshot.meter else "unavailable"
    counts = f"{snapshot.rounds} rounds, {snapshot.sent} wagers, {snapshot.verdicts.get('accepted', 0)} accepted"
    counts += f", {snapshot.repeated} repeats, {snapshot.win_count} wins"
    return ", ".join([f"{snapshot.seconds:6.0f} s  meter {meter}", counts, *waiting(snapshot)])


def waiting(snapshot: Snapshot) -> list[str]:
    """Return the tables that wait for a supervisor, each with the reason."""
    views = snapshot.tables
    suspended = [f"{view.table} is suspended ({view.suspended.replace('_', ' ')})" for view in views if view.suspended]
    pending = [f"{view.table} has a win to confirm in round {view.round}" for view in views if view.phase == "pending"]
    return suspended + pending


def reconciliation(result: Reconciliation) -> RenderableType:
    """Return the comparison table by table, every round that differs, and the result in one sentence."""
    title = Text(f"Wagers at the pads compared with {result.books.source}", "bold")
    listing = _new_listing(expand=False)
    listing.add_column("table")
    for heading in ("rounds", "wagers at pads", "wagers booked", "at pads", "booked", "difference"):
        listing.add_column(heading, justify="right")
    for line in result.tables:
        listing.add_row(*_cells(line, line.table), style="" if line.is_equal else "bold red")
    listing.add_section()
    listing.add_row(*_cells(result.total, "all"), style="bold")
    parts: list[RenderableType] = [title, listing]
    parts += [_difference(line) for line in result.differences[:MAX_DIFFERENCES]]
    parts += [f"contradiction: {text}" for text in result.contradictions[:MAX_DIFFERENCES]]
    if result.books.is_wire:
        parts.append(
            Text("A supervisor's void is not visible on the wire; use --config to compare with the books.", "grey62")
        )
    return Group(*parts, verdict(result))


def verdict(result: Reconciliation) -> Text:
    """Return the result of the reconciliation in one sentence."""
    if result.is_equal:
        total = result.total.pads
        sums = f"{total.wagers} wagers, {money(total.cents)}"
        if result.books.is_wire:
            return Text(
                f"Equal to the cent on the wire: {sums}; the controller's books were not compared.", "bold yellow"
            )
        return Text(f"Equal to the cent: {sums}.", "bold green")
    unanswered = f", {result.unanswered} wagers without an answer" if result.unanswered else ""
    contradicted = f", {len(result.contradictions)} contradictions" if result.contradictions else ""
    off = money(result.total.difference_cents)
    return Text(f"Different: {len(result.differences)} rounds, {off} in all{unanswered}{contradicted}.", "bold red")


def _difference(line: Comparison) -> str:
    """Return what differs in a round, and the boxes if they are known."""
    where = f"{line.table} round {line.round}"
    totals = [
        f"{total.wagers} wagers, {money(total.cents)} {place}"
        for place, total in (("at the pads", line.pads), ("booked", line.booked))
    ]
    lines = [f"{where}: {'; '.join(totals)}"]
    for problem, wagers in (("not booked", line.not_booked), ("booked, but not at the pad", line.not_at_pads)):
        lines += [f"{where} box {w.box}: {w.wager_id} of {money(w.cents)} is {problem}" for w in wagers]
    return "\n".join(lines)


def _new_listing(*, expand: bool = True) -> Table:
    return Table(
        header_style="bold", border_style="grey37",
        box=SIMPLE_HEAD, show_edge=False, expand=expand, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip


def _cells(line: Comparison, name: str) -> list[str]:
    cells = [line.rounds, line.pads.wagers, line.booked.wagers]
    amounts = [line.pads.cents, line.booked.cents, line.difference_cents]
    return [name, *map(str, cells), *map(money, amounts)]


def _meter(meter: ReceivedMeter | None, title: str) -> Panel:
    if meter is None:
        body = Text("\nmeter unavailable\n", "bold red", justify="center")
        return Panel(body, title=title, border_style="red")
    rows = [" ".join(_GLYPHS.get(character, (character,) * 3)[row] for character in meter.text) for row in range(3)]
    style = "bold orange1" if meter.state == "live" else "bold grey62"
    waits = f" · {meter.pending} awaiting confirmation" if meter.pending else ""
    return Panel(
        Align.center(Text("\n".join(rows), style, no_wrap=True)),
        title=title,
        subtitle=f"{meter.state}{waits} · epoch {meter.position.epoch} seq {meter.position.seq}",
        border_style="orange1",
    )


def _tables(views: tuple[TableView, ...], rows: int) -> Table:
    listing = _new_listing()
    listing.add_column("table", no_wrap=True)
    listing.add_column("round", justify="right", no_wrap=True)
    listing.add_column("phase", no_wrap=True, min_width=11)
    listing.add_column("boxes", no_wrap=True)
    listing.add_column("wagered", justify="right", no_wrap=True)
    for view in views[:rows]:
        lamps = Text(" ").join(_LAMPS[box] for box in view.boxes)
        listing.add_row(view.table, str(view.round), _phase(view), lamps, money(view.wagered_cents))
    if len(views) > rows:
        listing.add_row("…", "", f"and {len(views) - rows} more", "", "")
    return listing


def _phase(view: TableView) -> Text:
    """Return a table's phase, or the reason of its suspension."""
    if view.suspended:
        return Text(view.suspended.replace("_", " "), "bold red")
    return Text(view.phase, _PHASES.get(view.phase, ""))


def _counters(snapshot: Snapshot) -> Table:
    listing = Table.grid(expand=True, padding=(0, 1))
    listing.add_column()
    listing.add_column(justify="right")
    rejected = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(snapshot.rejected.items()))
    faults = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(snapshot.faults.items()))
    accepted, returned = snapshot.verdicts.get("accepted", 0), snapshot.verdicts.get("returned", 0)
    per_minute = 60 * snapshot.rounds / snapshot.seconds if snapshot.seconds > 1 else 0
    listing.add_row("rounds", f"{snapshot.rounds} ({per_minute:.0f} a minute)")
    listing.add_row("wagers", f"{snapshot.sent} ({accepted} accepted, {returned} returned)")
    listing.add_row("rejected", Text(rejected or "none"))
    listing.add_row("commands", str(snapshot.commands))
    listing.add_row("repeats", f"{snapshot.repeated} ({snapshot.unanswered} unanswered)")
    if faults:
        listing.add_row("faults", Text(faults))
    listing.add_row("devices", f"{snapshot.online} of {snapshot.devices} online")
    return listing


def _wins(wins: Iterable[ReceivedWin]) -> Table:
    listing = _new_listing()
    listing.add_column("wins", no_wrap=True, ratio=1)
    listing.add_column("at", no_wrap=True)
    listing.add_column("prize", justify="right", no_wrap=True)
    listing.add_column("", no_wrap=True)
    for win in reversed(tuple(wins)):
        style = {"pending": "bold magenta", "corrected": "strike"}.get(win.status, "")
        where, hand = f"{win.table}/{win.box}", win.hand.replace("_", " ")
        listing.add_row(hand, where, money(win.amount_cents), win.status, style=style)
    return listing
