"""The site's own chain: operators, and the list of jackpots and tables; the same five parts as the jackpot's core."""
