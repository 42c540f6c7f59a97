"""Failures of workers, brokers and receivers.  A short tier runs with the suite, `make chaos` runs more.

CHAOS=nightly runs the size that the README quotes.  Every seed is printed.
"""

import os
import random
import sys
from typing import Final

import pytest

TIER: Final = os.environ.get("CHAOS", "short")  # short, full or nightly
longer: Final = pytest.mark.skipif(TIER == "short", reason="takes longer than the suite has: make chaos")


def sized(*, short: float, full: float, nightly: float) -> float:
    """Return the value for the current tier."""
    return {"short": short, "full": full, "nightly": nightly}[TIER]


def dice() -> random.Random:
    """Return the random generator of a test, and print its seed: CHAOS_SEED repeats a run."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
    tell(f"seed {seed}")
    return random.Random(seed)


def tell(text: str) -> None:
    """Print a figure; pytest shows it with -s, as `make chaos` sets, and for failed tests."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
