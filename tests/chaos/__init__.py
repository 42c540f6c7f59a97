"""What happens when things die: workers, brokers, receivers.  A short tier runs with the suite, `make chaos` runs more.

CHAOS=nightly asks for the size that the README quotes.  Every seed is printed.
"""

import os
import random
import sys
from typing import Final

import pytest

TIER: Final = os.environ.get("CHAOS", "short")  # short, full or nightly
longer: Final = pytest.mark.skipif(TIER == "short", reason="takes longer than the suite has: make chaos")


def sized(*, short: float, full: float, nightly: float) -> float:
    """Choose by tier."""
    return {"short": short, "full": full, "nightly": nightly}[TIER]


def dice() -> random.Random:
    """Make the dice of a test, and print their seed: CHAOS_SEED repeats a run."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
    tell(f"seed {seed}")
    return random.Random(seed)


def tell(text: str) -> None:
    """Print a figure; pytest shows it with -s, as `make chaos` asks for, and with whatever fails."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
