"""Checks of ids that riders and drivers store of each other: the only registry of this project (docs/adr/0026).

Riders store ids of preferred and excluded drivers, and drivers store ids of excluded riders.  The apps riders and fleet
are siblings and do not import each other.  `RidesConfig.ready` sets the two functions, because rides is above both.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from lib.access import Principal
from lib.errors import Detail, FieldRefused
from lib.messages import Message, Template

# Returns the ids that exist within the caller's data scope.  One query.
FindVisible = Callable[[Collection[UUID], Principal], Collection[UUID]]


@dataclass(slots=True)
class ReferenceChecks:
    """The two checks; each is set once, when the apps are loaded."""

    visible_drivers: FindVisible | None = None
    visible_riders: FindVisible | None = None


checks: Final = ReferenceChecks()


def visible_drivers(ids: Collection[UUID], by: Principal) -> set[UUID]:
    """Return the drivers among `ids` that the caller may see.  One query, none without ids."""
    return _visible(checks.visible_drivers, ids, by)


def visible_riders(ids: Collection[UUID], by: Principal) -> set[UUID]:
    """Return the riders among `ids` that the caller may see.  One query, none without ids."""
    return _visible(checks.visible_riders, ids, by)


def require_drivers(ids: Sequence[UUID], *, field: str, stored: Collection[UUID] = (), by: Principal) -> None:
    """Refuse ids under `field` that are not drivers in the caller's data scope; `stored` ids may stay.

    At most one query.

    Raises:
        FieldRefused: names the position of each refused id.  Missing and out of scope look the same.
    """
    _require(_("driver"), visible_drivers, ids, field=field, stored=stored, by=by)


def require_riders(ids: Sequence[UUID], *, field: str, stored: Collection[UUID] = (), by: Principal) -> None:
    """Refuse ids that are not riders in the caller's data scope; see `require_drivers`."""
    _require(_("rider"), visible_riders, ids, field=field, stored=stored, by=by)


def _visible(find: FindVisible | None, ids: Collection[UUID], by: Principal) -> set[UUID]:
    if not ids:
        return set()
    if find is None:
        raise RuntimeError("The app rides is not installed: it sets this check when it is ready.")
    return set(find(ids, by))


def _require(
    kind: Template,
    visible: Callable[[Collection[UUID], Principal], set[UUID]],
    ids: Sequence[UUID],
    *,
    field: str,
    stored: Collection[UUID],
    by: Principal,
) -> None:
    new = {pk for pk in ids if pk not in stored}
    missing = new - visible(new, by)
    if missing:
        message = Message(_("There is no such %(record)s."), {"record": kind})
        places = [place for place, pk in enumerate(ids) if pk in missing]
        raise FieldRefused([Detail(field=f"{field}[{place}]", code="unknown", message=message) for place in places])
