"""Queries of facilities and of external ids."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import (
    CalendarShift,
    Contact,
    Entrance,
    ExternalId,
    Facility,
    FacilityQuerySet,
    SubjectType,
)
from apps.organizations.rules import stops
from lib.access import Principal
from lib.db.name_keys import NameKeys, near, words_of
from lib.errors import Code, Detail, DomainError
from lib.messages import Template


def facilities(by: Principal) -> FacilityQuerySet:
    """List facilities in the data scope with entrances, contacts and calendar shifts; unordered.

    One query, and one for each of the three related tables.
    """
    return Facility.objects.visible_to(by).prefetch_related(
        Prefetch("entrances", Entrance.objects.order_by("name", "pk")),
        Prefetch("contacts", Contact.objects.order_by("role", "name", "pk")),
        Prefetch("calendar_shifts", CalendarShift.objects.order_by("from_date", "pk")),
    )


def facilities_called(text: str, *, phone: str | None, by: Principal) -> FacilityQuerySet:
    """Find facilities in the data scope by name, external id, or the phone (E.164) of a contact; unordered.

    Each word of `text` starts a word of the name, or differs from one by at most one letter.
    """
    called = Q(pk__in=subjects_called(SubjectType.FACILITY, text))
    if phone:
        called |= Q(pk__in=Contact.objects.filter(phone=phone).values("facility_id"))
    words = words_of(text)
    named = Q()
    for word in words:
        named &= Q(name__iregex=rf"\m{word}") | Q(name_keys__overlap=near(word))
    rows = Facility.objects.visible_to(by).alias(name_keys=NameKeys("name"))
    return rows.filter(called | named if words else called)


def external_ids_of(subject_type: SubjectType, subject_ids: Collection[UUID]) -> dict[UUID, list[ExternalId]]:
    """Return the external ids of each record, by system and value; an empty list for a record without.

    One query.
    """
    by_subject: dict[UUID, list[ExternalId]] = defaultdict(list)
    rows = ExternalId.objects.filter(subject_type=subject_type, subject_id__in=subject_ids)
    for row in rows.order_by("system", "value"):
        by_subject[row.subject_id].append(row)
    return {subject_id: by_subject[subject_id] for subject_id in subject_ids}


def subject_of(subject_type: SubjectType, *, system: str, value: str) -> UUID | None:
    """Return the record with this external id, inside or outside the data scope: the caller has to filter by it."""
    return (
        ExternalId.objects.filter(subject_type=subject_type, system=system, value=value)
        .values_list("subject_id", flat=True)
        .first()
    )


def subjects_called(subject_type: SubjectType, ref: str) -> QuerySet[ExternalId, Any]:
    """Select records with the external id `ref`, `system|value`, or `value` in any system; regardless of data scope."""
    system, _, value = ref.rpartition("|")
    rows = ExternalId.objects.filter(subject_type=subject_type, value=value)
    return (rows.filter(system=system) if system else rows).values("subject_id")


def subjects_of(subject_type: SubjectType, names: Collection[tuple[str, str]]) -> set[UUID]:
    """Return the records with these external ids (pairs of system and value), regardless of data scope.  One query."""
    rows = ExternalId.objects.filter(
        subject_type=subject_type,
        system__in={system for system, _ in names},
        value__in={value for _, value in names},
    )
    pairs = set(names)
    return {pk for pk, *name in rows.values_list("subject_id", "system", "value") if tuple(name) in pairs}


def place_of(facility: Facility) -> stops.Stop:
    """Return a facility as the stop at its main entrance; `stops.at_facility` fills other stops from it."""
    return stops.normal(
        {
            "facilityId": facility.pk,
            "name": facility.name,
            "addressLine1": facility.address_line1,
            "addressLine2": facility.address_line2,
            "city": facility.city,
            "state": facility.state,
            "postalCode": facility.postal_code,
            "lat": facility.lat,
            "lng": facility.lng,
        }
    )


class StopUnusable(DomainError):
    """The stop has no usable location; the details name each field."""

    code = Code.VALIDATION_ERROR

    def __init__(self, details: list[Detail]) -> None:
        super().__init__(details[0].text, details=details)


def validated_stop(data: Mapping[str, Any], *, by: Principal, path: str) -> stops.Stop:
    """Normalize a stop, fill in the address of its facility, and check that it can be located.

    `path` is the position of the stop in the request.  One query if it names a facility, two with an entrance.

    Raises:
        StopUnusable: it has no location, its facility is outside the data scope, or its entrance is not the facility's.
    """
    stop = stops.normal(data)
    if stop["facilityId"] is not None:
        facility = Facility.objects.visible_to(by).filter(pk=stop["facilityId"]).first()
        if facility is None:
            raise StopUnusable([_unknown(f"{path}.facilityId", _("%(field)s must be a facility that exists."))])
        doors = Entrance.objects.filter(facility=facility)
        if stop["entranceId"] is not None and not doors.filter(pk=stop["entranceId"]).exists():
            raise StopUnusable([_unknown(f"{path}.entranceId", _("%(field)s must be an entrance of the facility."))])
        stop = stops.at_facility(stop, place_of(facility))
    if problems := stops.problems(stop, path=path):
        raise StopUnusable(problems)
    return stop


def _unknown(field: str, message: Template) -> Detail:
    return Detail(field=field, code="unknown", message=message)


def contacts_of(facility_id: UUID, *, by: Principal) -> list[Contact]:
    """List the contacts of a facility in the data scope.  One query."""
    reach = Facility.objects.visible_to(by)
    return list(Contact.objects.filter(facility__in=reach, facility_id=facility_id).order_by("role", "name", "pk"))
