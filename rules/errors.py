"""What can be wrong with a question put to the rules.

ValueError
└── RulesError              anything the rules refuse
    ├── CardError           not a card, a card twice, a card the deck does not have
    ├── HandError           the wrong number of cards, or a board where none belongs
    ├── OptionError         an instrument or an option of it that does not exist
    └── RoundError          a round that cannot be settled as it is told
"""


class RulesError(ValueError):
    """A question the rules refuse, with a sentence that says why."""


class CardError(RulesError):
    """A card that cannot be what it is said to be."""


class HandError(RulesError):
    """Cards that do not make a hand of the game."""


class OptionError(RulesError):
    """An instrument or option that does not exist."""


class RoundError(RulesError):
    """A round that cannot be settled as it is told."""


def shown(value: object) -> str:
    """Any value as a refusal shows it: on one line, short, whatever it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= 40 else f"{text[:37]}..."
