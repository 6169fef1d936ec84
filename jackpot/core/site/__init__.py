"""The core of the site's own chain: operators, jackpots and tables; the same five modules as for a jackpot."""
