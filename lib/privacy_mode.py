"""Privacy mode: riders by initials, on screens that visitors can see.

The entry point of a request sets it; tasks, commands and the API use full names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_on: ContextVar[bool] = ContextVar("initials_alone", default=False)


@contextmanager
def initials_alone(enabled: bool) -> Iterator[None]:
    """Set privacy mode for this thread or task in the block."""
    before = _on.set(enabled)
    try:
        yield
    finally:
        _on.reset(before)


def shows_initials() -> bool:
    return _on.get()


def initial(name: str) -> str:
    """Return the initial of a name: `W.` for Wilson; "" for a name without letters."""
    return next((f"{character.upper()}." for character in name if character.isalnum()), "")
