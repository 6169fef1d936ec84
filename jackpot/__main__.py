"""`python -m jackpot` is `jackpot`."""

from jackpot.cli import main

main()
