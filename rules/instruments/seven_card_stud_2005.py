"""NI2005-74: Seven Card Stud, the best five of seven cards; pots in `rules.pots`.

If too few cards are left for every player's last card, one communal card replaces it (r 17.20): a player then has six
own cards and a board of one.
"""

from __future__ import annotations

from typing import Final

from rules.game import Game, StudGame
from rules.instruments import INSTRUMENTS
from rules.options import pot_game_options

INSTRUMENT: Final = INSTRUMENTS["seven-card-stud-2005"]


def load(**options: object) -> Game:
    """Return the game (rr 2.2, 2.3, 3, 9.1)."""
    return StudGame(INSTRUMENT.id, *pot_game_options(INSTRUMENT.id, options))
