"""Query parameters of the pages; an empty filter is the same as none."""

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


def _none_if_empty(value: object) -> object:
    return value.strip() or None if isinstance(value, str) else value


def _printable(text: str) -> str:
    """Refuse control characters: not every store accepts them, and no name contains one."""
    if _CONTROL.search(text):
        raise PydanticCustomError("unprintable", "control characters are not allowed")
    return text


EMPTY: Final = BeforeValidator(_none_if_empty)
Filter = Annotated[Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_printable)] | None, EMPTY, Query()]


def address(path: str, **filters: object) -> str:
    """Return a page's address with these filters, ready for one more."""
    named = {name: value for name, value in filters.items() if value is not None}
    return f"{path}?{urlencode(named)}{'&' if named else ''}"
