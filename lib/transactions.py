"""Transactions around transactions.

A service is one transaction.  Called inside another it is a savepoint, so that whoever calls it may catch its refusal
and go on; that costs two round trips.  Around most requests stands somebody who never goes on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from django.db import transaction

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_undone_whole: Final[ContextVar[bool]] = ContextVar("undone_whole", default=False)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Make a transaction, or a savepoint, that every failure inside undoes as a whole, and let services inside know."""
    with transaction.atomic():
        mark = _undone_whole.set(True)
        try:
            yield
        finally:
            _undone_whole.reset(mark)


def one_transaction(service: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Run a service as `transaction.atomic` does, but without a savepoint where any failure undoes everything."""

    @wraps(service)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        if _undone_whole.get():
            return service(*args, **kwargs)
        with transaction.atomic():
            return service(*args, **kwargs)

    return run
