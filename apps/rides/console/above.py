"""What apps above rides show on top of the exceptions desk: they put it here when they are ready."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest

# Each answers a piece of HTML for the visitor of the page, or nothing.
PARTS: Final[list[Callable[[HttpRequest], str]]] = []
