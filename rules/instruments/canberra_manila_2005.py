"""NI2005-64: Canberra Manila, two hole cards and exactly three of five communal cards; pots in `rules.pots`."""

from __future__ import annotations

from typing import Final

from rules.game import Game, TwoPlusThreeGame
from rules.instruments import INSTRUMENTS
from rules.options import pot_game_options

INSTRUMENT: Final = INSTRUMENTS["canberra-manila-2005"]


def load(**options: object) -> Game:
    """Return the game (rr 2.2, 2.3, 3, 9.1)."""
    return TwoPlusThreeGame(INSTRUMENT.id, *pot_game_options(INSTRUMENT.id, options))
