"""All writes to facilities and to external ids."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events import services as events
from apps.organizations import queries
from apps.organizations.models import (
    Contact,
    Entrance,
    EscalationPolicy,
    ExternalId,
    Facility,
    FacilityKind,
    SubjectType,
)
from apps.organizations.rules import opening_hours, stops
from apps.organizations.zones import validate_zone
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, StaleVersion
from lib.ids import uuid7
from lib.messages import FieldName

# The letter on claims that follows from the kind of place; G, dialysis inside a hospital, has to be set by a person.
MODIFIER_CODE_OF_KIND: Final[dict[str, str]] = {
    FacilityKind.HOSPITAL: "H",
    FacilityKind.DIALYSIS: "J",
    FacilityKind.SNF: "N",
    FacilityKind.CLINIC: "P",
    FacilityKind.RESIDENCE: "R",
}
OTHER_PLACE: Final = "D"

_Part = TypeVar("_Part", Entrance, Contact)

_PARTS: Final = ("entrances", "contacts", "external_ids")


class ExternalIdTaken(DomainError):
    """Another record of the same kind has this external id."""

    code = Code.DUPLICATE_RESOURCE

    def __init__(self, position: int, existing_id: UUID | None) -> None:
        message = _("Another record is known by this external id.")
        also = {"existingId": str(existing_id)} if existing_id else {}
        detail = Detail(field=f"externalIds[{position}]", code="duplicate", message=message, also=also)
        super().__init__(message, details=[detail])


class BoundToFacilities(DomainError):
    """The caller's data scope is a list of facilities, which the caller cannot extend."""

    code = Code.FORBIDDEN
    template = _("A caller bound to facilities cannot add one.")


@transaction.atomic
def create_facility(*, draft: Mapping[str, Any], by: Principal, at: datetime) -> Facility:
    """Add a facility.

    `draft` holds columns of `Facility` (name, kind, timezone and the address at least) and, each optional, the lists
    `entrances` and `contacts` of columns, and `external_ids` of `{"system", "value", "type"}`.

    Raises:
        BoundToFacilities: the caller could not see the new facility.
        InvalidInput: a value is invalid; the field has its API name.
        ExternalIdTaken: another facility has that external id.
    """
    if by.facility_ids is not None:
        raise BoundToFacilities
    facility = Facility(**_columns(draft))
    _check(facility)
    facility.save(force_insert=True)
    _replace_parts(facility, draft, by)
    audit.record(
        by=by,
        action="facilities.create",
        subject_type=SubjectType.FACILITY,
        subject_id=facility.pk,
        facility_id=facility.pk,
        details={"fields": sorted(draft)},
    )
    record_event(facility, by=by, at=at)
    return facility


@transaction.atomic
def amend_facility(
    *, facility_id: UUID, changes: Mapping[str, Any], by: Principal, at: datetime, expected_version: int | None = None
) -> Facility:
    """Change a facility.  `changes` is like `draft` of `create_facility`; lists in it replace the whole list.

    Entrances and contacts keep their ids if the list contains them; an entrance also if it keeps its name.  If nothing
    differs, nothing is written and the version stays.

    Raises:
        NotFound: it does not exist or is outside the data scope.
        StaleVersion: it changed since the caller read it.
        InvalidInput, ExternalIdTaken: see `create_facility`.
    """
    # Not FOR UPDATE: it would block bookings, whose foreign key refers to the facility.
    rows = Facility.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    facility = rows.filter(pk=facility_id).first()
    if facility is None:
        raise NotFound(_("facility"))
    if expected_version is not None and expected_version != facility.version:
        raise StaleVersion(facility.version)
    new_values = _columns(changes, kind_before=facility.kind)
    columns = {name: value for name, value in new_values.items() if getattr(facility, name) != value}
    for name, value in columns.items():
        setattr(facility, name, value)
    _check(facility)
    changed = sorted({*columns, *_replace_parts(facility, changes, by)})
    if not changed:
        return facility
    facility.version += 1
    facility.save(update_fields=[*columns, "version", "updated_at"])
    audit.record(
        by=by,
        action="facilities.amend",
        subject_type=SubjectType.FACILITY,
        subject_id=facility.pk,
        facility_id=facility.pk,
        details={"fields": changed},
    )
    record_event(facility, by=by, at=at)
    return facility


def record_event(facility: Facility, *, by: Principal, at: datetime) -> None:
    """Record the event for the current version of a facility, in the transaction that raised the version.

    For the functions of this module, and for admin forms, which save rows directly.  One insert.
    """
    events.record(
        type="facility.created" if facility.version == 1 else "facility.updated",
        subject_type=SubjectType.FACILITY,
        subject_id=facility.pk,
        sequence=facility.version,
        facility_id=facility.pk,
        occurred_at=at,
        by=by,
        data={"facilityId": str(facility.pk)},
    )


def replace_external_ids(
    *,
    subject_type: SubjectType,
    subject_id: UUID,
    external_ids: Sequence[Mapping[str, Any]],
    in_reach: Callable[[UUID], bool],
) -> bool:
    """Replace the external ids (`system`, `value`, `type` each) of a record; return whether they changed.

    Runs in the caller's transaction, with the record's row locked.  `in_reach` returns whether the caller may learn
    which record has an id already.  One query if nothing changes.

    Raises:
        ExternalIdTaken: another record of the kind has one of the ids.
        InvalidInput: an id is listed twice.
    """
    names = [(external_id["system"], external_id["value"]) for external_id in external_ids]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise InvalidInput(f"externalIds[{position}]", _("%(field)s is given twice."), detail_code="repeated")
    existing = {
        (row.system, row.value, row.type): row
        for row in queries.external_ids_of(subject_type, [subject_id])[subject_id]
    }
    requested = {
        (external_id["system"], external_id["value"], external_id.get("type", "")) for external_id in external_ids
    }
    if requested == set(existing):
        return False
    ExternalId.objects.filter(pk__in=[row.pk for key, row in existing.items() if key not in requested]).delete()
    for position, external_id in enumerate(external_ids):
        key = (external_id["system"], external_id["value"], external_id.get("type", ""))
        if key not in existing:
            _claim(subject_type, subject_id, key, position, in_reach)
    return True


def _claim(
    subject_type: SubjectType,
    subject_id: UUID,
    key: tuple[str, str, str],
    position: int,
    in_reach: Callable[[UUID], bool],
) -> None:
    system, value, kind = key
    try:
        with transaction.atomic():  # if two records claim an id concurrently, the unique constraint decides
            ExternalId.objects.create(
                subject_type=subject_type, subject_id=subject_id, system=system, value=value, type=kind
            )
    except IntegrityError:
        holder = queries.subject_of(subject_type, system=system, value=value)
        raise ExternalIdTaken(position, holder if holder and in_reach(holder) else None) from None


def _columns(draft: Mapping[str, Any], *, kind_before: str | None = None) -> dict[str, Any]:
    columns = {name: value for name, value in draft.items() if name not in _PARTS}
    if columns.get("kind", kind_before) != kind_before and "modifier_code" not in columns:
        columns["modifier_code"] = MODIFIER_CODE_OF_KIND.get(columns["kind"], OTHER_PLACE)
    return columns


def _check(facility: Facility) -> None:
    try:
        validate_zone(facility.timezone)
    except ValidationError:
        raise InvalidInput(
            "timezone", _("%(field)s must be the IANA time zone of a place, such as America/Chicago.")
        ) from None
    if facility.discharge_target_minutes > facility.discharge_max_minutes:
        raise InvalidInput(
            "sla.dischargeTargetMinutes",
            _("%(field)s must not be greater than %(most)s."),
            most=FieldName("dischargeMaxMinutes"),
        )
    if (facility.lat is None) != (facility.lng is None):
        raise InvalidInput(
            "address.lat", _("%(field)s goes with %(other)s: give both or neither."), other=FieldName("lng")
        )
    if positions := opening_hours.repeated_days(facility.hours):
        raise InvalidInput(f"hours[{positions[0]}]", _("%(field)s names a day twice, or overlaps another period."))
    policy_id = facility.escalation_policy_id
    if policy_id is not None and not EscalationPolicy.objects.filter(pk=policy_id).exists():
        raise InvalidInput(
            "escalationPolicyId", _("%(field)s must be an escalation policy that exists."), detail_code="unknown"
        )


def _replace_parts(facility: Facility, draft: Mapping[str, Any], by: Principal) -> set[str]:
    """Save the lists in `draft`; return the names of those that changed."""
    changed = set()
    if "entrances" in draft and _replace_entrances(facility, draft["entrances"]):
        changed.add("entrances")
    if "contacts" in draft and _replace_contacts(facility, draft["contacts"]):
        changed.add("contacts")
    if "external_ids" in draft and replace_external_ids(
        subject_type=SubjectType.FACILITY,
        subject_id=facility.pk,
        external_ids=draft["external_ids"],
        in_reach=lambda pk: Facility.objects.visible_to(by).filter(pk=pk).exists(),
    ):
        changed.add("external_ids")
    return changed


def _replace_entrances(facility: Facility, entrances: Sequence[Mapping[str, Any]]) -> bool:
    names = [entrance["name"] for entrance in entrances]
    for position, entrance in enumerate(entrances):
        if entrance["name"] in names[:position]:
            raise InvalidInput(
                f"entrances[{position}].name",
                _("%(field)s is the name of another entrance too."),
                detail_code="repeated",
            )
        if (entrance.get("lat") is None) != (entrance.get("lng") is None):
            raise InvalidInput(
                f"entrances[{position}].lat",
                _("%(field)s goes with %(other)s: give both or neither."),
                other=FieldName("lng"),
            )
    existing = {entrance.pk: entrance for entrance in Entrance.objects.filter(facility=facility)}
    id_of_name = {entrance.name: entrance.pk for entrance in existing.values()}
    claimed = {entrance["id"] for entrance in entrances if entrance.get("id")}
    rows = []
    for entrance in entrances:
        same_name = id_of_name.get(entrance["name"])
        entrance_id = entrance.get("id") or (same_name if same_name not in claimed else None)
        rows.append(Entrance(**{**entrance, "id": entrance_id or uuid7(), "facility": facility}))
    return _replace_rows(Entrance, existing, rows, given_ids=claimed, path="entrances")


def _replace_contacts(facility: Facility, contacts: Sequence[Mapping[str, Any]]) -> bool:
    for position, contact in enumerate(contacts):
        if not stops.is_e164(contact["phone"]):
            raise InvalidInput(
                f"contacts[{position}].phone",
                _("%(field)s must be a phone number in E.164 form, such as +13125550140."),
            )
    existing = {contact.pk: contact for contact in Contact.objects.filter(facility=facility)}
    rows = [Contact(**{**contact, "id": contact.get("id") or uuid7(), "facility": facility}) for contact in contacts]
    return _replace_rows(
        Contact, existing, rows, given_ids={contact["id"] for contact in contacts if contact.get("id")}, path="contacts"
    )


def _replace_rows(
    model: type[_Part], existing: Mapping[UUID, _Part], rows: Sequence[_Part], *, given_ids: set[UUID], path: str
) -> bool:
    """Replace the rows `existing` by `rows`; return whether they differ.

    Changed rows are deleted and inserted again with the same ids, so that two rows may swap a unique name.

    Raises:
        InvalidInput: an id in `given_ids` is not one of the facility's, or is listed twice.
    """
    seen: set[UUID] = set()
    for position, row in enumerate(rows):
        if row.pk in seen or (row.pk in given_ids and row.pk not in existing):
            raise InvalidInput(
                f"{path}[{position}].id",
                _("%(field)s must be the id of one the facility has, given once."),
                detail_code="unknown",
            )
        seen.add(row.pk)
    unchanged = {row.pk for row in rows if row.pk in existing and _values(row) == _values(existing[row.pk])}
    removed, added = existing.keys() - unchanged, [row for row in rows if row.pk not in unchanged]
    if not removed and not added:
        return False
    model._default_manager.filter(pk__in=removed).delete()
    model._default_manager.bulk_create(added)
    return True


def _values(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
