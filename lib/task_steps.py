"""Steps of one periodic task that do not depend on each other."""

import logging
from collections.abc import Callable, Iterator, Mapping

log = logging.getLogger(__name__)


def run_steps(steps: Mapping[str, Callable[[], object]]) -> Iterator[tuple[str, bool]]:
    """Run every step in order, and yield its name and whether it succeeded after each one.

    A step that raises is logged with its traceback and does not stop the next one.  Each step opens its own
    transactions; call this outside of any.
    """
    for name, step in steps.items():
        try:
            step()
        except Exception:
            log.exception("step of a periodic task failed", extra={"step": name})
            yield name, False
        else:
            yield name, True
