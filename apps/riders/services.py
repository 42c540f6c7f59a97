"""All writes to riders and their needs.

Drafts and changes hold columns of `Rider` by name, and in addition: `medicaid_id` and `member_id` as text,
`home_address` and `saved_places` as stops in the API's shape, `facility_ids`, and `external_ids` of `{"system",
"value", "type"}`.  A draft may hold `accommodation` in the API's shape; for an existing rider, `set_accommodation`
changes it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.organizations import queries as organizations
from apps.organizations import services as organization_services
from apps.organizations.models import Facility, SubjectType
from apps.organizations.rules import stops
from apps.riders import queries
from apps.riders.models import AccommodationProfile, Consent, Rider, RiderFacility
from apps.riders.rules import accommodation, disclosure, rider_status
from apps.riders.rules.contacts import normal_caregivers, normal_person, normal_phones
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, StaleVersion
from lib.ids import uuid7
from lib.reference_checks import require_drivers

_BESIDE_COLUMNS: Final = ("facility_ids", "external_ids")
_NEEDS: Final = "accommodation"
_SEALED: Final = ("medicaid_id", "member_id")
_DRIVERS: Final = ("preferred_driver_ids", "excluded_driver_ids")
# Ids that are encrypted have their own fields; as external ids they would be stored in plain text.
_SEALED_TYPES: Final = {"medicaid_id": "medicaidId", "member_id": "memberId"}


class OutOfReach(DomainError):
    """The caller sees riders only through rides, and could not see the rider after registering."""

    code = Code.FORBIDDEN
    template = _("A caller bound to transport providers cannot register riders.")


class SeveralRiders(DomainError):
    """The external ids belong to more than one rider: a person has to decide which one is meant."""

    code = Code.DUPLICATE_RESOURCE

    def __init__(self, rider_ids: Iterable[UUID]) -> None:
        message = _("The external ids belong to different riders.")
        details = [
            Detail(field="externalIds", code="duplicate", message=message, also={"existingId": str(rider_id)})
            for rider_id in rider_ids
        ]
        super().__init__(message, details=details)


class NeedsContradictory(DomainError):
    """The rider's needs contradict each other; the details name each field."""

    code = Code.VALIDATION_ERROR

    def __init__(self, details: list[Detail]) -> None:
        super().__init__(details[0].text, details=details)


@dataclass(frozen=True, slots=True)
class RegisteredRider:
    """A new rider, and riders in the caller's data scope who may be the same person."""

    rider: Rider
    possible_duplicates: tuple[UUID, ...]


@transaction.atomic
def register(*, draft: Mapping[str, Any], by: Principal, at: datetime) -> RegisteredRider:
    """Add a rider with the first version of their needs (the defaults, unless the draft says otherwise).

    The facilities named in the draft may see and book the rider; without any, those the caller is bound to.

    Raises:
        OutOfReach: the caller is bound to providers.
        PhiNotPermitted: the draft holds fields above the caller's PHI level.
        ExternalIdTaken: another rider has that external id; `existingId` names them if they are in the data scope.
        InvalidInput, StopUnusable, NeedsContradictory: a value is invalid.
    """
    if by.provider_ids is not None:
        raise OutOfReach
    disclosure.require_to_write(by.phi, map(_wire, draft))
    shape = _needs(draft.get(_NEEDS) or {})
    rider = Rider(id=uuid7())
    _apply(rider, _columns(rider, {key: draft[key] for key in draft if key != _NEEDS}, by=by), at=at)
    rider.save(force_insert=True)
    facility_ids = _facility_ids(draft.get("facility_ids"), before=frozenset(), by=by)
    _set_facilities(rider, facility_ids)
    _set_external_ids(rider, draft.get("external_ids") or [], by=by)
    _add_profile(rider, shape, number=1, by=by, at=at)
    duplicates = queries.possible_duplicates(rider, by=by)
    audit.record(
        by=by,
        action="riders.register",
        subject_type=SubjectType.RIDER,
        subject_id=rider.pk,
        rider_ids=[rider.pk, *duplicates],
        facility_id=next(iter(facility_ids)) if len(facility_ids) == 1 else None,
        details={"fields": sorted(draft)},
    )
    return RegisteredRider(rider=rider, possible_duplicates=duplicates)


@transaction.atomic
def match_or_register(*, draft: Mapping[str, Any], facility_id: UUID | None, by: Principal, at: datetime) -> Rider:
    """Return the rider with the draft's external ids, or register one; for bookings with a rider inline.

    An existing rider in the data scope is not changed, except that `facility_id`, which is in the caller's data scope,
    is added to their facilities.  Locks the rider's row.

    Raises:
        SeveralRiders: the external ids belong to more than one rider.
        All errors of `register`.
    """
    rider_ids = [
        organizations.subject_of(SubjectType.RIDER, system=external_id["system"], value=external_id["value"])
        for external_id in draft.get("external_ids") or []
    ]
    riders = list(Rider.objects.visible_to(by).filter(pk__in=[pk for pk in rider_ids if pk]).order_by("pk"))
    if len(riders) > 1:
        raise SeveralRiders([rider.pk for rider in riders])
    if not riders:
        facility = {} if facility_id is None or draft.get("facility_ids") else {"facility_ids": [facility_id]}
        return register(draft={**draft, **facility}, by=by, at=at).rider
    rider = _locked(riders[0].pk, None, by=by)
    if facility_id is not None and RiderFacility.objects.get_or_create(rider=rider, facility_id=facility_id)[1]:
        _record_change(rider, ["facility_ids"], action="riders.amend", by=by)
    return rider


def lock_named(rider_ids: Iterable[UUID], names: Iterable[Mapping[str, Any]], *, by: Principal) -> None:
    """Lock riders in the data scope, ordered by id, until the transaction ends.

    For services that change several riders.  `names` are external ids (`system` and `value`); unknown ids and names are
    ignored.  Two queries, one without names.
    """
    pairs = [(name["system"], name["value"]) for name in names]
    named_ids = organizations.subjects_of(SubjectType.RIDER, pairs) if pairs else set()
    rows = Rider.objects.visible_to(by).filter(pk__in={*rider_ids, *named_ids}).order_by("pk")
    list(rows.select_for_update(of=("self",), no_key=True).values_list("pk"))


@transaction.atomic
def amend(
    *,
    rider_id: UUID,
    changes: Mapping[str, Any],
    by: Principal,
    at: datetime,
    expected_version: int | None = None,
    action: str = "riders.amend",
) -> Rider:
    """Change a rider.

    Lists replace the whole list, objects merge by key; facilities outside the caller's data scope stay.  A status other
    than active or deceased needs a reason; a new status resets reason and period.  If nothing differs, nothing is
    written and the version stays.

    Raises:
        NotFound: the rider does not exist or is outside the data scope.
        StaleVersion: the rider changed since the caller read it.
        PhiNotPermitted, ExternalIdTaken, InvalidInput, StopUnusable: see `register`.
    """
    rider = _locked(rider_id, expected_version, by=by)
    disclosure.require_to_write(by.phi, map(_wire, changes))
    changed = _apply(rider, _columns(rider, changes, by=by), at=at)
    if "facility_ids" in changes:
        before = frozenset(RiderFacility.objects.filter(rider=rider).values_list("facility_id", flat=True))
        after = _facility_ids(changes["facility_ids"], before=before, by=by)
        if after != before:
            _set_facilities(rider, after)
            changed.append("facility_ids")
    if "external_ids" in changes and _set_external_ids(rider, changes["external_ids"], by=by):
        changed.append("external_ids")
    if changed:
        _record_change(rider, changed, action=action, by=by)
    return rider


def change_status(
    *,
    rider_id: UUID,
    status: str,
    by: Principal,
    at: datetime,
    reason: str = "",
    status_from: date | None = None,
    status_until: date | None = None,
    expected_version: int | None = None,
) -> Rider:
    """Change whether a rider may be booked, with the reason and period.

    Raises: see `amend`.
    """
    changes = {"status": status, "status_reason": reason, "status_from": status_from, "status_until": status_until}
    return amend(
        rider_id=rider_id,
        changes=changes,
        by=by,
        at=at,
        expected_version=expected_version,
        action="riders.change_status",
    )


@transaction.atomic
def set_accommodation(
    *, rider_id: UUID, needs: Mapping[str, Any], by: Principal, at: datetime, expected_version: int | None = None
) -> AccommodationProfile:
    """Save `needs` (the API's shape, whole) as the next version of a rider's needs; return the current version.

    `profile.rider` of the result is the rider with the new version number.

    The previous version stays readable; rides keep the snapshot they were booked with.  For a rider with upcoming
    rides, the caller has to check those again.  Equal needs create no new version.

    Raises:
        NotFound, StaleVersion: see `amend`; the version is the rider's.
        PhiNotPermitted: the caller may not see needs.
        NeedsContradictory: they contradict each other.
    """
    rider = _locked(rider_id, expected_version, by=by)
    disclosure.require_to_write(by.phi, [_NEEDS])
    shape = _needs(needs)
    newest = AccommodationProfile.objects.filter(rider=rider).order_by("-number").first()
    if newest is not None and accommodation.snapshot(newest) == shape:
        newest.rider = rider
        return newest
    AccommodationProfile.objects.filter(rider=rider, current=True).update(current=False)
    profile = _add_profile(rider, shape, number=newest.number + 1 if newest else 1, by=by, at=at)
    _record_change(rider, [_NEEDS], action="riders.set_accommodation", by=by)
    return profile


def _locked(rider_id: UUID, expected_version: int | None, *, by: Principal) -> Rider:
    # Not FOR UPDATE: it would block bookings, whose foreign key refers to the row.
    rows = Rider.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    rider = rows.filter(pk=rider_id).first()
    if rider is None:
        raise NotFound(_("rider"))
    if expected_version is not None and expected_version != rider.version:
        raise StaleVersion(rider.version)
    return rider


def _columns(rider: Rider, draft: Mapping[str, Any], *, by: Principal) -> dict[str, Any]:
    """Normalize the values of columns; objects merge into the rider's existing ones, by key."""
    columns = {name: value for name, value in draft.items() if name not in _BESIDE_COLUMNS}
    for name in (*_SEALED, "driver_gender_preference"):
        if name in columns:
            columns[name] = columns[name] or ""
    if columns.get("home_address") is not None:
        merged = stops.merged(rider.home_address or {}, columns["home_address"])
        columns["home_address"] = organizations.validated_stop(merged, by=by, path="homeAddress")
    if "saved_places" in columns:
        columns["saved_places"] = [
            organizations.validated_stop(stop, by=by, path=f"savedPlaces[{position}]")
            for position, stop in enumerate(columns["saved_places"])
        ]
    for name in _DRIVERS:
        if columns.get(name):
            require_drivers(columns[name], field=_wire(name), stored=getattr(rider, name), by=by)
    if "phones" in columns:
        columns["phones"] = normal_phones(columns["phones"])
    if "caregivers" in columns:
        columns["caregivers"] = normal_caregivers(columns["caregivers"])
    if columns.get("emergency_contact") is not None:
        merged = {**(rider.emergency_contact or {}), **columns["emergency_contact"]}
        columns["emergency_contact"] = normal_person(merged, path="emergencyContact")
    return columns


def _apply(rider: Rider, columns: dict[str, Any], *, at: datetime) -> list[str]:
    """Set the columns and those that depend on them; return the names of the changed ones.

    Encrypted columns are named without their suffix.
    """
    columns = rider_status.completed(columns, status_before=rider.status)
    if columns.get("sms_consent", rider.sms_consent) != rider.sms_consent and not columns.get("sms_consent_at"):
        columns["sms_consent_at"] = None if columns["sms_consent"] == Consent.UNKNOWN else at
    changed = [name for name, value in columns.items() if getattr(rider, name) != value]
    for name in changed:
        setattr(rider, name, columns[name])
    rider_status.check(rider)
    if rider.date_of_birth is not None and rider.date_of_birth > at.date():
        raise InvalidInput("dateOfBirth", _("%(field)s must not be in the future."))
    if rider.sms_consent == Consent.GRANTED and rider.sms_consent_at is None:
        raise InvalidInput("smsConsentAt", _("%(field)s is required with a consent that was granted."))
    if rider.sms_consent_at is not None and rider.sms_consent_at > at:
        raise InvalidInput("smsConsentAt", _("%(field)s must not be in the future."))
    return changed


def _record_change(rider: Rider, changed: list[str], *, action: str, by: Principal) -> None:
    """Save the changed columns, raise the version and add an audit entry."""
    columns = [name for name in changed if name not in (*_BESIDE_COLUMNS, _NEEDS)]
    for name in _SEALED:
        if name in columns:
            columns = [column for column in columns if column != name] + [f"{name}_encrypted", f"{name}_index"]
    rider.version += 1
    rider.save(update_fields=[*columns, "version", "updated_at"])
    audit.record(
        by=by,
        action=action,
        subject_type=SubjectType.RIDER,
        subject_id=rider.pk,
        rider_ids=[rider.pk],
        details={"fields": sorted(changed)},
    )


def _facility_ids(facility_ids: Iterable[UUID] | None, *, before: frozenset[UUID], by: Principal) -> frozenset[UUID]:
    """Return the facilities of a rider after the change.

    Raises:
        InvalidInput: one does not exist in the data scope, or the caller could no longer see the rider.
    """
    if facility_ids is None:
        return before | (by.facility_ids or frozenset())
    requested = frozenset(facility_ids)
    visible = frozenset(Facility.objects.visible_to(by).filter(pk__in=requested).values_list("pk", flat=True))
    if visible != requested:
        raise InvalidInput("facilityIds", _("%(field)s must be facilities that exist."), detail_code="unknown")
    if by.facility_ids is None:
        return requested
    if not requested:
        raise InvalidInput("facilityIds", _("%(field)s must keep one of your facilities."))
    return requested | (before - by.facility_ids)


def _set_facilities(rider: Rider, facility_ids: frozenset[UUID]) -> None:
    rows = RiderFacility.objects.filter(rider=rider)
    rows.exclude(facility_id__in=facility_ids).delete()
    existing = set(rows.values_list("facility_id", flat=True))
    RiderFacility.objects.bulk_create(
        RiderFacility(rider=rider, facility_id=facility_id) for facility_id in sorted(facility_ids - existing)
    )


def _set_external_ids(rider: Rider, external_ids: Iterable[Mapping[str, Any]], *, by: Principal) -> bool:
    names = list(external_ids)
    for position, name in enumerate(names):
        if proper := _SEALED_TYPES.get(name.get("type", "")):
            field = f"externalIds[{position}].type"
            raise InvalidInput(
                field, _("%(field)s has a field of its own, which is stored encrypted: %(proper)s."), proper=proper
            )
    return organization_services.replace_external_ids(
        subject_type=SubjectType.RIDER,
        subject_id=rider.pk,
        external_ids=names,
        in_reach=lambda pk: Rider.objects.visible_to(by).filter(pk=pk).exists(),
    )


def _needs(needs: Mapping[str, Any]) -> accommodation.Shape:
    shape = accommodation.complete(needs)
    if problems := accommodation.problems(shape):
        raise NeedsContradictory(problems)
    return shape


def _add_profile(
    rider: Rider, shape: accommodation.Shape, *, number: int, by: Principal, at: datetime
) -> AccommodationProfile:
    return AccommodationProfile.objects.create(
        rider=rider, number=number, recorded_at=at, recorded_by=by.actor, **accommodation.columns(shape)
    )


def _wire(name: str) -> str:
    """Return the API's name of a column."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
