"""Which tests come first: the long ones, shared out among the processes.

xdist's `worksteal` gives each process one stretch of the list, and whoever has done its own takes from the end of
another's.  A long test at the end of the list is one that all others wait for.
"""

from typing import Final

import pytest

# Half a minute and more on two cores that are busy, longest first.
LONG: Final = (
    "tests/accounts/test_idempotent_storm.py",
    "tests/runtime/test_run.py",
    "tests/recurring/test_year.py",
    "tests/fleet/test_double_booking.py",
    "tests/rides/test_status_races.py",
    "tests/browser/",
    "tests/api/test_schema_fuzz.py",
    "tests/demo/test_demo_loads.py",
    "tests/rides/test_ride_state_machine.py",
    "tests/recurring/test_recurrence.py",
    "tests/demo/test_demo_chance.py",
    "tests/recurring/test_order_state_machine.py",
    "tests/webhooks/test_listen.py",
    "tests/rides/test_watching_property.py",
)


def spread(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Put the items of long modules, whole, at the beginning of the stretches that `processes` get."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.nodeid.partition("::")[0], []).append(item)
    ranks = {name: _rank(name) for name in modules}
    long = sorted((name for name in modules if ranks[name] < len(LONG)), key=ranks.__getitem__)
    others = [item for name in modules if ranks[name] == len(LONG) for item in modules[name]]
    found: list[pytest.Item] = []
    for number in range(processes):
        stretch = (len(items) - len(found)) // (processes - number)  # as xdist counts
        first = [item for name in long[number::processes] for item in modules[name]]
        room = max(0, stretch - len(first))
        found += first + others[:room]
        others = others[room:]
    return found + others


def _rank(name: str) -> int:
    return next((rank for rank, long in enumerate(LONG) if name.startswith(long)), len(LONG))
