"""The law: cards, the hand evaluator, one module per instrument, odds. Pure: no clock, no I/O, no other package.

game = rules.load("canberra-poker-2016")
game.hand("Kc Kd Kh Jc Jd").describe()      "Full house, kings over jacks"
"""

from rules.cards import Card, Cards, deck, parse
from rules.categories import Category
from rules.errors import CardError, HandError, OptionError, RoundError, RulesError
from rules.game import Game
from rules.hands import Hand, LowHand
from rules.instruments import INSTRUMENTS, Instrument, load

__all__ = [
    "INSTRUMENTS",
    "Card",
    "CardError",
    "Cards",
    "Category",
    "Game",
    "Hand",
    "HandError",
    "Instrument",
    "LowHand",
    "OptionError",
    "RoundError",
    "RulesError",
    "deck",
    "load",
    "parse",
]
