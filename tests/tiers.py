"""Size of the long tests: `make test` runs short ones, `make nightly` (NIGHTLY=1) the full ones.

A short race is still long enough that it fails without its guard: its control is no longer.
"""

import os
from typing import Final

NIGHTLY: Final = bool(os.environ.get("NIGHTLY"))


def sized(short: int, nightly: int) -> int:
    return nightly if NIGHTLY else short
