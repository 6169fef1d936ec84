"""Settle a round given as JSON under any instrument, without a controller or a store.

`requests` reads and checks the JSON, `settlement` settles the round and returns the answer as plain data.
"""

from jackpot.calculator.requests import RequestError, read
from jackpot.calculator.settlement import settle

__all__ = ["RequestError", "read", "settle"]
