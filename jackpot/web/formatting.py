"""Formatting of hands, amounts, times and clauses for pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from jackpot.engine.views import dollars as money
from rules import INSTRUMENTS

_SPECIAL: Final = {"dead_mans_hand": "Dead man’s hand"}

_RANKS: Final = {
    "A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten", "9": "nine", "8": "eight", "7": "seven",
    "6": "six", "5": "five", "4": "four", "3": "three", "2": "two",
}  # fmt: skip
_SUITS: Final = {"s": ("spades", "♠"), "h": ("hearts", "♥"), "d": ("diamonds", "♦"), "c": ("clubs", "♣")}
_CAUSES: Final = {
    "dealer_report": "The dealer reported a malfunction",
    "pad_offline": "A pad went offline with a lit wager",
    "display": "A display shows a wrong amount",
    "store": "The store did not answer",
}
_ACCOUNTS: Final = {
    "players": "players", "wagers": "wagers held", "jackpot": "jackpot pool", "reserve": "reserve pool",
    "payable": "prizes payable", "house": "house", "house_advance": "house advance",
}  # fmt: skip

__all__ = [
    "account_name",
    "as_sentence",
    "card_colour",
    "card_face",
    "card_name",
    "cause",
    "clause_address",
    "clause_anchor",
    "hand_name",
    "hand_names",
    "local",
    "money",
    "share",
    "signed_money",
]


def card_name(card: str) -> str:
    """Return a card's name: "ace of spades"."""
    rank, suit = _parts(card)
    return f"{_RANKS[rank]} of {_SUITS[suit][0]}" if suit in _SUITS else "Joker"


def card_face(card: str) -> str:
    """Return a card as printed: "A♠", "10♥"."""
    rank, suit = _parts(card)
    return f"{'10' if rank == 'T' else rank}{_SUITS[suit][1]}" if suit in _SUITS else "★"


def card_colour(card: str) -> str:
    """Return "red" or "black"."""
    return "red" if _parts(card)[1] in {"h", "d"} else "black"


def _parts(card: str) -> tuple[str, str]:
    return card[:-1].upper().replace("10", "T"), card[-1].lower()


def cause(suspended: str) -> str:
    """Return why a table is suspended, as a sentence without its full stop."""
    return _CAUSES.get(suspended, suspended.replace("_", " ").capitalize())


def hand_name(hand: str) -> str:
    """Return the name of a prize hand: "Royal flush"."""
    return _SPECIAL.get(hand) or hand.replace("_", " ").capitalize()


def hand_names(hands: Iterable[str]) -> str:
    """Return the names of several prize hands, each kind once: "Straight flush and royal flush"."""
    first, *rest = dict.fromkeys(map(hand_name, hands))
    *others, last = [first, *map(str.lower, rest)]
    return f"{', '.join(others)} and {last}" if others else last


def as_sentence(text: str) -> str:
    """Return a refusal's text as a sentence: capital first letter, full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def share(bps: int) -> str:
    """Return a share in basis points as a percentage: "70%", "66.67%"."""
    whole, rest = divmod(bps, 100)
    decimals = f".{rest:02d}".rstrip("0") if rest else ""
    return f"{whole}{decimals}%"


def local(moment: str, zone: str) -> str:
    """Return a time in the site's time zone: "2026-11-15 20:30:12"."""
    return f"{datetime.fromisoformat(moment).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


def clause_anchor(number: str) -> str:
    """Return the anchor of a clause on its instrument's page: "r11.1-b"."""
    return "r" + re.sub(r"[^0-9A-Za-z.]+", "-", number).strip("-")


def clause_address(cited: str) -> str:
    """Return the address of a clause cited as "NI2016-268 r 11.1(b)"; the list of instruments if the law is unknown."""
    law, _, number = cited.partition(" r ")
    found = [instrument.id for instrument in INSTRUMENTS.values() if instrument.law == law]
    return f"/rules/{found[0]}#{clause_anchor(number)}" if found and number else "/rules"


def account_name(account: str) -> str:
    """Return the name of an account: "jackpot pool"."""
    return _ACCOUNTS.get(account, account)


def signed_money(cents: int) -> str:
    """Return a change of a pool with its sign: "+$1.40", "−$25.00"."""
    sign = "+" if cents > 0 else "−" if cents < 0 else ""
    return f"{sign}{money(abs(cents))}"
