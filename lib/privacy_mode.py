"""Privacy mode: riders by their initials, on screens that visitors see.

The door of a request says whether it is on; tasks, commands and the API write names whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_on: ContextVar[bool] = ContextVar("initials_alone", default=False)


@contextmanager
def initials_alone(wanted: bool) -> Iterator[None]:
    """Have names of riders shortened in this thread or task meanwhile, or not."""
    before = _on.set(wanted)
    try:
        yield
    finally:
        _on.reset(before)


def shows_initials() -> bool:
    return _on.get()


def initial(name: str) -> str:
    """Shorten a name to its first letter: `W.` for Wilson; nothing of a name without letters."""
    return next((f"{one.upper()}." for one in name if one.isalnum()), "")
