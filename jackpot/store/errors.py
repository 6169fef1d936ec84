"""What can go wrong with the store.

Exception
└── StoreError              with a sentence for a person: what happened, where, what to do
    ├── Fenced              another controller has taken over: stop at once
    ├── WrongSchema         the schema is behind or ahead of this program
    ├── Unreachable         the database cannot be opened, read or written now: it may be asked again
    └── Rejected            the database refuses a row: to ask again is of no use
"""


class StoreError(Exception):
    """Something went wrong with the store."""


class Fenced(StoreError):  # noqa: N818 - a state of the world more than an error
    """Another controller has taken the chain over."""


class WrongSchema(StoreError):  # noqa: N818
    """The schema is behind or ahead of this program."""


class Unreachable(StoreError):  # noqa: N818
    """The database cannot be opened, read or written now."""


class Rejected(StoreError):  # noqa: N818
    """The database refuses a row."""
