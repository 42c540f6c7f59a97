"""Operations on riders.  Their needs are changed by operations of rides, because rides have to be checked again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.riders import queries, services
from apps.riders.api.serializers import (
    RegisteredOut,
    RiderChangedOut,
    RiderFieldsQuery,
    RiderOut,
    RiderQuery,
    RiderSearchIn,
)
from apps.riders.models import Rider
from apps.riders.queries import PolicyStanding, RiderRecord
from apps.riders.rules import disclosure
from apps.riders.schemas.accommodation import AccommodationVersionOut
from apps.riders.schemas.rider_input import RiderChangeIn, RiderIn
from lib.access import Phi
from lib.api.query import PageQuery
from lib.api.views import ApiViewSet
from lib.errors import Code, InvalidInput, NotFound
from lib.pagination import paginate
from lib.scopes import Scope

_STANDING: Final = frozenset({"status", "status_from", "status_until"})


class RiderViewSet(AuditedReads, ApiViewSet):
    """Riders: the person, contact details and needs.

    The fields of an answer depend on the token's PHI level: at none ids, status and mobility; at limited also names,
    external ids and the last characters of payer ids; at full all fields.
    """

    scopes = {
        "list": Scope.RIDERS_READ,
        "search": Scope.RIDERS_READ,
        "retrieve": Scope.RIDERS_READ,
        "create": Scope.RIDERS_WRITE,
        "partial_update": Scope.RIDERS_WRITE,
        "accommodation_versions": Scope.RIDERS_READ,
    }
    queries = {"list": RiderQuery, "retrieve": RiderFieldsQuery, "accommodation_versions": PageQuery}
    bodies = {
        "search": RiderSearchIn,
        "create": RiderIn,
        "partial_update": RiderChangeIn,
    }
    answers = {
        "list": RiderOut,
        "search": RiderOut,
        "retrieve": RiderOut,
        "create": RegisteredOut,
        "partial_update": RiderChangedOut,
        "accommodation_versions": AccommodationVersionOut,
    }
    refusals = {
        "list": (Code.PHI_NOT_PERMITTED,),
        "search": (Code.PHI_NOT_PERMITTED,),
        "retrieve": (Code.PHI_NOT_PERMITTED,),
        "create": (Code.PHI_NOT_PERMITTED, Code.DUPLICATE_RESOURCE, Code.FORBIDDEN),
        "partial_update": (Code.PHI_NOT_PERMITTED, Code.DUPLICATE_RESOURCE, Code.PRECONDITION_FAILED),
        "accommodation_versions": (Code.PHI_NOT_PERMITTED,),
    }

    possible_duplicates: Sequence[UUID] = ()
    rides_to_decide: Sequence[UUID] | None = None
    policy_standings: Mapping[UUID, PolicyStanding] = {}

    def get_serializer_context(self) -> dict[str, Any]:
        by = getattr(self.request, "auth", None)
        return {
            **super().get_serializer_context(),
            "phi": by.phi if by else Phi.FULL,  # the document shows everything
            "requested": getattr(self, "query", {}).get("fields_", disclosure.DEFAULT_FIELDS if by else None),
            "possible_duplicates": self.possible_duplicates,
            "rides_to_decide": self.rides_to_decide,
            "policy_standings": self.policy_standings,
        }

    def list(self, request: Request) -> Response:
        """List riders, newest first.

        To find a person, use `POST /riders/search`, which keeps names and numbers out of URLs.
        """
        self._require_requested()
        rows = queries.riders(
            statuses=self.query.get("status"), facility_id=self.query.get("facility_id"), by=self.principal
        )
        page = self.page(rows, sort="-created_at")
        return self.answer_page(replace(page, rows=list(self._records(page.rows, action="riders.list"))))

    def search(self, request: Request) -> Response:
        """Find riders by name, external id, phone, payer id or birth date.

        Each criterion requires the PHI level that may see its field.  For the next page, add `cursor` to the same body.
        """
        body = self.body()
        criteria = {name: body[name] for name in body.keys() - {"limit", "cursor"}}
        if not criteria:
            raise InvalidInput("name", _("%(field)s, or another criterion, is required."), detail_code="required")
        disclosure.require(self.principal.phi, request.data, table=disclosure.CRITERIA)
        page = paginate(queries.search(criteria, by=self.principal), query=body, by=self.principal, sort="last_name")
        records = self._records(page.rows, action="riders.search", details={"criteria": sorted(criteria)})
        data = RiderOut(records, many=True, context=self.get_serializer_context()).data
        return Response({"data": data, "page": page.as_json()})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read one rider."""
        self._require_requested()
        rider = Rider.objects.visible_to(self.principal).filter(pk=id).first()
        if rider is None:
            raise NotFound(_("rider"))
        (record,) = self._records([rider], action="riders.read", subject_id=rider.pk)
        is_complete = "fields_" not in self.query
        return self.answer(record, version=rider.version if is_complete else None)

    def create(self, request: Request) -> Response:
        """Register a rider.

        Only external ids identify a rider: if one is in use, the answer is 409 with `existingId`.  Riders with the same
        name and birth date are not refused; `possibleDuplicates` lists them.  Without `facilityIds`, the facilities of
        the token may see and book the rider.
        """
        registered = services.register(draft=self.body(), by=self.principal, at=self.at)
        self.possible_duplicates = registered.possible_duplicates
        rider = registered.rider
        return self.answer(
            queries.record(rider, by=self.principal),
            version=rider.version,
            headers={"Location": f"/api/riders/{rider.pk}"},
        )

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a rider by JSON merge patch.

        Omitted fields are unchanged.  Objects merge key by key; a list replaces the whole list.  A status other than
        active or deceased requires a `statusReason`.  If the body contains a status field, `ridesToDecide` lists the
        upcoming rides in the data scope that the status does not allow: they stay until a person decides.
        """
        changes = self.body()
        rider = services.amend(
            rider_id=id,
            changes=changes,
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        if _STANDING & set(changes):
            self.rides_to_decide = queries.rides_to_decide(rider, by=self.principal)
        # Also if nothing changed, the answer contains the rider.
        (record,) = self._records([rider], action="riders.read", subject_id=rider.pk)
        return self.answer(record, version=rider.version)

    def accommodation_versions(self, request: Request, id: UUID) -> Response:
        """List the versions of a rider's needs, newest first."""
        disclosure.require(self.principal.phi, ["accommodation"])
        page = self.page(queries.versions_of(id, by=self.principal), sort="-number")
        self._audit("riders.read_accommodation", [id], subject_id=id)
        return self.answer_page(page)

    def _require_requested(self) -> None:
        disclosure.require(self.principal.phi, self.query.get("fields_", ()))

    def _records(self, riders: Sequence[Rider], *, action: str, **columns: Any) -> Sequence[RiderRecord]:
        """Read the records of riders for the answer, and record in the audit log that they were shown."""
        ids = [rider.pk for rider in riders]
        self._audit(action, ids, **columns)
        if disclosure.POLICY_STANDING in self.query.get("fields_", ()):
            self.policy_standings = queries.policy_standings(ids, by=self.principal, at=self.at)
        return queries.records(riders, by=self.principal)

    def _audit(self, action: str, rider_ids: Sequence[UUID], **columns: Any) -> None:
        self.record_read(action, subject_type="rider", rider_ids=rider_ids, **columns)
