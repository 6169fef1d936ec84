"""The live view in a terminal: the meter, the tables with their lamps, the wins; Ctrl-C ends and reconciles."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from contextlib import asynccontextmanager

from hardware_sim import view
from tests.support.scripted_controller import controller, reached

LIMIT_SECONDS = 180
ROWS, COLUMNS = 40, 120


class PseudoTerminal:
    """A pseudo-terminal in which a program runs, and the text that it drew there."""

    def __init__(self, fd):
        self._fd = fd
        self._drawn = b""

    def read(self):
        try:
            self._drawn += os.read(self._fd, 65536)
        except OSError:
            asyncio.get_running_loop().remove_reader(self._fd)

    def press_ctrl_c(self):
        os.write(self._fd, b"\x03")

    @property
    def text(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._drawn.decode(errors="ignore"))


@asynccontextmanager
async def simulator_in_terminal(*arguments):
    """Run the simulator in a pseudo-terminal; yield the terminal and the process."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *arguments,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**environment, "TERM": "xterm-256color"}, preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    shown = PseudoTerminal(ours)
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, shown.read)
    try:
        yield shown, process
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()


def rows(text, table):
    """Return every drawn row of a table: its round, its phase, and its lamps."""
    return re.findall(rf"^ *{table} +(\d+) +(\w+(?: \w+)*?) +([●○◌✕](?: [●○◌✕])*) +\$", text, re.MULTILINE)


def large(amount):
    """Return the first line of an amount in the meter's large digits."""
    return " ".join(view._GLYPHS[character][0] for character in amount)


def test_a_terminal_shows_meter_tables_lamps_and_wins_until_ctrl_c_then_the_reconciliation(broker):
    async def whole():
        async with controller(broker, "seen", ["t1", "t2"]) as scripted:
            arguments = ("--broker", str(broker), "--site", "seen", "--tables", "2", "--speed", "12")
            rigged = ("--rig", "t1:3:royal_flush@1", "--rig", "t2:4:flush@1")
            async with simulator_in_terminal(*arguments, *rigged) as (shown, process):
                await reached(lambda: "royal flush" in shown.text and " flush" in shown.text, LIMIT_SECONDS)
                await reached(lambda: "t1 has a win to confirm in round 1" in shown.text, LIMIT_SECONDS)
                await reached(lambda: any(int(number) > 1 for number, *_ in rows(shown.text, "t2")), LIMIT_SECONDS)
                shown.press_ctrl_c()
                async with asyncio.timeout(LIMIT_SECONDS):
                    assert await process.wait() == 0
                await reached(lambda: "Equal to the cent on the wire" in shown.text)
                assert_it_was_drawn(shown.text, scripted)

    asyncio.run(whole())


def assert_it_was_drawn(text, scripted):
    assert " seen · main · speed 12 " in text
    assert large("$10,000.00") in text
    cents = 1_000_000 + sum(cents for _, cents in scripted.books().values())
    assert large(f"${cents // 100:,}.{cents % 100:02d}") in text
    for table in ("t1", "t2"):
        drawn = rows(text, table)
        assert {len(lamps.split()) for _, _, lamps in drawn} == {7}
        assert {"idle", "open", "closed"} <= {phase for _, phase, _ in drawn}
        assert {"●", "○"} <= {lamp for _, _, lamps in drawn for lamp in lamps.split()}
    assert "pending" in {phase for _, phase, _ in rows(text, "t1")}
    assert re.search(r"royal flush +t1/3 +\$100\.00 +pending", text)
    assert re.search(r"flush +t2/4 +\$100\.00 +paid", text)
    assert "17 of 17 online" in text
    assert "t1 has a win to confirm in round 1; it still waits for a supervisor." in text
