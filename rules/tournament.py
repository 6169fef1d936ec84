"""Tournament prizes for players who finish level (reading 30)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rules.errors import RoundError
from rules.round_checks import require_cents


def share_prizes(prizes_cents: Sequence[int], finish: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the amount paid to each player; `finish` lists players from first place down, tied players together.

    Tied players share the prizes of the places they cover equally; odd cents go to the earliest listed
    (NI2016-268 r 17.23, NI2005-64 and NI2005-74 r 20.19). Places beyond the last prize win nothing.
    """
    for place, prize in enumerate(prizes_cents, start=1):
        require_cents(f"the prize of place {place}", prize)
    names = [name for tied in finish for name in tied]
    if len(set(names)) != len(names):
        raise RoundError(f"{next(n for n in names if names.count(n) > 1)} finishes in two places")
    if len(names) < len(prizes_cents):
        raise RoundError(f"{len(prizes_cents)} prizes for {len(names)} players: all of the pool must be paid (r 17.21)")
    paid: dict[str, int] = {}
    place = 0
    for tied in finish:
        if not tied:
            raise RoundError(f"no player is listed for place {place + 1}")
        covered = sum(prizes_cents[place : place + len(tied)])
        share, odd = divmod(covered, len(tied))
        paid |= {name: share + (position < odd) for position, name in enumerate(tied)}
        place += len(tied)
    return paid


def rank_eliminated(chips_put_in: Mapping[str, int]) -> list[list[str]]:
    """Rank players eliminated in one round: more chips in the last pot finishes higher, equal amounts tie (r 20.19)."""
    for name, chips in chips_put_in.items():
        require_cents(f"what {name} put into the last pot", chips)
    amounts = sorted(set(chips_put_in.values()), reverse=True)
    return [[name for name, chips in chips_put_in.items() if chips == amount] for amount in amounts]
