"""One module per instrument: `load` returns its game, the other functions settle what the instrument settles."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

from rules.errors import OptionError, shown
from rules.game import Game


class Instrument(NamedTuple):
    """The gazetted rules of one game."""

    id: str
    law: str
    game: str
    pools_wagers_at_settlement: bool = False
    """A jackpot wager waits until its round is settled, and goes to the pools if it lost (reading 16)."""
    pays_displayed_amount: bool = False
    """Each winner is paid on the amount displayed when its hand was declared (reading 17)."""

    @property
    def module(self) -> ModuleType:
        """The module of this instrument."""
        return import_module(f"rules.instruments.{self.id.replace('-', '_')}")

    def clause(self, number: str) -> str:
        """Return the citation of a clause: "NI2016-268 r 11.3(b)"."""
        return f"{self.law} r {number}"


INSTRUMENTS: Final[dict[str, Instrument]] = {
    instrument.id: instrument
    for instrument in (
        Instrument("canberra-poker-2016", "NI2016-268", "Canberra Poker, progressive jackpot"),
        Instrument(
            "canberra-poker-1997",
            "Gazette S89 of 1997",
            "Canberra Poker, Boomerang Jackpot",
            pools_wagers_at_settlement=True,
            pays_displayed_amount=True,
        ),
        Instrument("canberra-manila-2005", "NI2005-64", "Canberra Manila"),
        Instrument("seven-card-stud-2005", "NI2005-74", "Seven Card Stud"),
        Instrument("ultimate-texas-holdem-2025", "NI2025-411", "Ultimate Texas Hold-em"),
    )
}
DEFAULT: Final = "canberra-poker-2016"


def find(instrument_id: str) -> Instrument:
    """Return the instrument of this id."""
    try:
        return INSTRUMENTS[instrument_id]
    except (KeyError, TypeError):
        raise OptionError(
            f"there is no instrument {shown(instrument_id)}: choose one of {', '.join(INSTRUMENTS)}"
        ) from None


def load(instrument_id: str, /, **options: object) -> Game:
    """Return the game of this instrument under the options that its operator chose."""
    game: Game = find(instrument_id).module.load(**options)
    return game
