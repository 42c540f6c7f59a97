"""External ids of drivers and vehicles: their ids in other systems."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from apps.fleet.models import Driver, Vehicle
from apps.organizations import services as organizations
from apps.organizations.models import SubjectType
from lib.access import Principal

EXTERNAL_IDS: Final = "external_ids"  # replaced as a whole: [{"system", "value", "type"}]


def replace_external_ids(owner: Driver | Vehicle, fields: Mapping[str, Any], by: Principal) -> bool:
    """Replace the external ids of a locked record by the list in `fields`, if any; return whether they changed.

    Raises:
        ExternalIdTaken: another driver, or vehicle, has one of them.
        InvalidInput: an id is listed twice.
    """
    if EXTERNAL_IDS not in fields:
        return False
    kind = type(owner)
    external_ids: Sequence[Mapping[str, Any]] = fields[EXTERNAL_IDS]

    def in_reach(holder_id: UUID) -> bool:
        return kind.objects.visible_to(by).filter(pk=holder_id).exists()

    return organizations.replace_external_ids(
        subject_type=SubjectType.DRIVER if kind is Driver else SubjectType.VEHICLE,
        subject_id=owner.pk,
        external_ids=external_ids,
        in_reach=in_reach,
    )
