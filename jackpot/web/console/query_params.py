"""What a page's address asks for; a filter that is left empty asks for nothing."""

from __future__ import annotations

import re
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

PAGE_ROWS: Final = 50
MAX_TEXT: Final = 100
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def _or_nothing(value: object) -> object:
    return value.strip() or None if isinstance(value, str) else value


def _printable(text: str) -> str:
    """Not every store takes a control character, and nothing has one in its name."""
    if _CONTROL.search(text):
        raise PydanticCustomError("unprintable", "nothing has a control character in its name")
    return text


EMPTY: Final = BeforeValidator(_or_nothing)
Filter = Annotated[Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_printable)] | None, EMPTY, Query()]


def address(path: str, **filters: object) -> str:
    """A page's address with these filters, ready for one more."""
    named = {name: value for name, value in filters.items() if value is not None}
    return f"{path}?{urlencode(named)}{'&' if named else ''}"
