"""The errors of the store.

Exception
└── StoreError              its message says what happened, where, and what to do
    ├── Fenced              the chain may not be written any more: stop at once
    │   ├── TakenOver       another controller owns the chain, at another epoch
    │   ├── RolledBack      the store has gone back to an earlier event
    │   └── Forked          another process wrote other events at the same epoch
    ├── WrongSchema         the schema is behind or ahead of this program
    ├── NotDurable          the server or the file may lose what it has committed
    ├── Unreachable         the database cannot be opened, read or written now: a retry may help
    └── Rejected            the database refuses a row: a retry is of no use
"""


class StoreError(Exception):
    """Any error of the store."""


class Fenced(StoreError):  # noqa: N818 - a state rather than an error
    """The chain may not be written any more."""


class TakenOver(Fenced):
    """Another controller owns the chain."""


class RolledBack(Fenced):
    """The store has gone back to an earlier event."""


class Forked(Fenced):
    """Another process wrote other events at the same epoch."""


class WrongSchema(StoreError):  # noqa: N818
    """The schema is behind or ahead of this program."""


class NotDurable(StoreError):  # noqa: N818
    """The server or the file may lose what it has committed."""


class Unreachable(StoreError):  # noqa: N818
    """The database cannot be opened, read or written now."""


class Rejected(StoreError):  # noqa: N818
    """The database refuses a row."""
