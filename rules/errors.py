"""The errors that the rules raise.

ValueError
└── RulesError              anything that the rules refuse
    ├── CardError           not a card, a card twice, a card the deck does not have
    ├── HandError           the wrong number of cards, or a board where none belongs
    ├── OptionError         an instrument or an option of it that does not exist
    └── RoundError          a round that cannot be settled as given
"""


class RulesError(ValueError):
    """Input that the rules refuse; the message says why."""


class CardError(RulesError):
    """Not a card, a card twice, or a card that the deck does not have."""


class HandError(RulesError):
    """Cards that do not make a hand of the game."""


class OptionError(RulesError):
    """An instrument or option that does not exist."""


class RoundError(RulesError):
    """A round that cannot be settled as given."""


def shown(value: object) -> str:
    """Return any value as error messages show it: short, on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= 40 else f"{text[:37]}..."
