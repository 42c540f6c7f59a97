"""Records of one app that another app beside it keeps by id: whether a caller may name them.

Apps that stand beside each other import nothing of one another; each says here, as it is loaded, how its records are
found, and a service asks before it keeps an id.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final
from uuid import UUID

from lib.access import Principal
from lib.errors import Detail, FieldRefused

# Answers those of the ids that exist within a caller's reach.
Find = Callable[[Collection[UUID], Principal], Collection[UUID]]
_FINDS: Final[dict[str, Find]] = {}


def register(kind: str, find: Find) -> None:
    """Say how records of a kind, such as "driver", are found; call it from `AppConfig.ready`."""
    _FINDS[kind] = find


def in_reach(kind: str, ids: Collection[UUID], by: Principal) -> set[UUID]:
    """Keep those of the ids that exist within the caller's reach.  One query, none where there are no ids."""
    return set(_FINDS[kind](ids, by)) if ids else set()


def require_known(kind: str, ids: Sequence[UUID], *, field: str, held: Collection[UUID] = (), by: Principal) -> None:
    """Check ids that are to be kept under `field`; those `held` already stay whoever names them.  One query at most.

    Raises:
        FieldRefused: names the place of each that does not exist, or lies out of reach: the two are told apart nowhere.
    """
    new = {one for one in ids if one not in held}
    missing = new - in_reach(kind, new, by)
    if missing:
        message = f"There is no such {kind}."
        places = [position for position, one in enumerate(ids) if one in missing]
        raise FieldRefused([Detail(field=f"{field}[{place}]", code="unknown", message=message) for place in places])
