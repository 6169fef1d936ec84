"""What a page's address asks for; a filter that is left empty asks for nothing."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BeforeValidator, Field

PAGE_ROWS: Final = 50
MOST_TEXT: Final = 100


def _or_nothing(value: object) -> object:
    return value.strip() or None if isinstance(value, str) else value


EMPTY: Final = BeforeValidator(_or_nothing)
Filter = Annotated[Annotated[str, Field(max_length=MOST_TEXT)] | None, EMPTY, Query()]


def address(path: str, **filters: object) -> str:
    """A page's address with these filters, ready for one more."""
    named = {name: value for name, value in filters.items() if value is not None}
    return f"{path}?{urlencode(named)}{'&' if named else ''}"
