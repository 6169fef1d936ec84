"""The options an operator may choose, as far as the instrument allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rules.cards import lowest_rank
from rules.errors import OptionError, shown
from rules.game import LowOptions, WinRule
from rules.ranking import DeckOptions

POT_GAME_OPTIONS: Final = ("deck", "joker", "ace_low", "low_ace", "win", "eight_or_better")


def refuse_options(instrument_id: str, options: Mapping[str, object]) -> None:
    """Refuse every option: the instrument has one deck of 52 and the ace both high and low."""
    if options:
        raise OptionError(f"{instrument_id} has no option {', '.join(map(shown, sorted(options)))}")


def pot_game_options(instrument_id: str, options: Mapping[str, object]) -> tuple[DeckOptions, LowOptions, WinRule]:
    """Return the options of NI2005-64 and NI2005-74 rr 2.2, 2.3 and 3.5."""
    unknown = sorted(set(options) - set(POT_GAME_OPTIONS))
    if unknown:
        raise OptionError(
            f"{instrument_id} has no option {', '.join(map(shown, unknown))}: it has {', '.join(POT_GAME_OPTIONS)}"
        )
    size = options.get("deck", 52)
    if type(size) is not int:
        raise OptionError(f"deck is a number of cards, not {shown(size)}")
    lowest_rank(size)
    deck = DeckOptions(size, joker=_flag(options, "joker"), ace_low=_flag(options, "ace_low"))
    low_ace = options.get("low_ace", "high")
    if type(low_ace) is not str or low_ace not in ("high", "low"):
        raise OptionError(f"low_ace is high or low, not {shown(low_ace)}")
    win = options.get("win", "high")
    if not isinstance(win, str) or win not in tuple(WinRule):
        raise OptionError(f"win is {', '.join(WinRule)}, not {shown(win)}")
    low = LowOptions(ace_is_low=low_ace == "low", eight_or_better=_flag(options, "eight_or_better"))
    return deck, low, WinRule(str(win))


def _flag(options: Mapping[str, object], name: str) -> bool:
    value = options.get(name, False)
    if type(value) is not bool:
        raise OptionError(f"{name} is true or false, not {shown(value)}")
    return value
