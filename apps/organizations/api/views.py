"""Operations on facilities."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.organizations import queries, services
from apps.organizations.api.serializers import FacilityIn, FacilityOut, FacilityQuery
from apps.organizations.models import SubjectType
from lib.api.views import ApiViewSet
from lib.errors import Code, InvalidInput, NotFound
from lib.scopes import Scope


class FacilityViewSet(ApiViewSet):
    """Facilities: care facilities that book rides."""

    scopes = {
        "list": Scope.FACILITIES_READ,
        "retrieve": Scope.FACILITIES_READ,
        "create": Scope.FACILITIES_WRITE,
        "partial_update": Scope.FACILITIES_WRITE,
    }
    queries = {"list": FacilityQuery}
    bodies = {"create": FacilityIn, "partial_update": FacilityIn}
    answers = {
        "list": FacilityOut,
        "retrieve": FacilityOut,
        "create": FacilityOut,
        "partial_update": FacilityOut,
    }
    refusals = {
        "create": (Code.DUPLICATE_RESOURCE, Code.FORBIDDEN),
        "partial_update": (Code.DUPLICATE_RESOURCE, Code.PRECONDITION_FAILED),
    }

    facility_ids: list[UUID]

    def get_serializer_context(self) -> dict[str, Any]:
        external_ids = (
            queries.external_ids_of(SubjectType.FACILITY, self.facility_ids) if hasattr(self, "facility_ids") else {}
        )
        return {**super().get_serializer_context(), "external_ids": external_ids}

    def list(self, request: Request) -> Response:
        """List facilities by name."""
        rows = queries.facilities(self.principal)
        if kinds := self.query.get("kind"):
            rows = rows.filter(kind__in=kinds)
        if "active" in self.query:
            rows = rows.filter(active=self.query["active"])
        if name := self.query.get("external_id"):
            rows = rows.filter(pk__in=_named(name))
        page = self.page(rows, sort="name")
        self.facility_ids = [facility.pk for facility in page.rows]
        return self.answer_page(page)

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read one facility."""
        return self._show(id)

    def create(self, request: Request) -> Response:
        """Add a facility.

        `modifierCode`, the letter for claims, depends on the kind.  A token bound to facilities cannot add a facility.
        """
        facility = services.create_facility(draft=self.body(), by=self.principal, at=self.at)
        return self._show(facility.pk, headers={"Location": f"/api/facilities/{facility.pk}"})

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a facility by JSON merge patch.

        Omitted fields are unchanged.  Objects merge key by key; a list replaces the whole list, in which entrances and
        contacts with an `id` keep their identity.
        """
        facility = services.amend_facility(
            facility_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._show(facility.pk)

    def _show(self, id: UUID, *, headers: dict[str, str] | None = None) -> Response:
        facility = queries.facilities(self.principal).filter(pk=id).first()
        if facility is None:
            raise NotFound(_("facility"))
        self.facility_ids = [facility.pk]
        return self.answer(facility, version=facility.version, headers=headers)


def _named(name: str) -> list[UUID]:
    system, separator, value = name.partition("|")
    if not separator:
        raise InvalidInput("externalId", _("%(field)s must be written as system|value."))
    subject = queries.subject_of(SubjectType.FACILITY, system=system, value=value)
    return [] if subject is None else [subject]
