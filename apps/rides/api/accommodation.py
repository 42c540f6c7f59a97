"""What a rider needs, changed together with the rides ahead of them."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.riders.schemas.accommodation import AccommodationIn, AccommodationVersionOut
from apps.rides.services import accommodation_change
from lib.api import fields
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class AccommodationChangeOut(AccommodationVersionOut):
    """The version in force, the rides that took it over, and those whose driver or vehicle no longer fits."""

    changed_ride_ids = fields.List(child=fields.Uuid())
    mismatched_ride_ids = fields.List(child=fields.Uuid())

    def to_representation(self, change: accommodation_change.AccommodationChange) -> dict[str, object]:
        accommodation = dict(AccommodationVersionOut(change.profile).data)
        return {
            **accommodation,
            "changedRideIds": [str(ride_id) for ride_id in change.changed_ride_ids],
            "mismatchedRideIds": [str(ride_id) for ride_id in change.mismatched_ride_ids],
        }


class RiderAccommodationViewSet(AuditedReads, ApiViewSet):
    """What riders need."""

    scopes = {"update": Scope.RIDERS_WRITE}
    bodies = {"update": AccommodationIn}
    answers = {"update": AccommodationChangeOut}
    refusals = {"update": (Code.PHI_NOT_PERMITTED, Code.PRECONDITION_FAILED)}

    def update(self, request: Request, id: UUID) -> Response:
        """Replace the accommodation profile of a rider by a new version.

        Fields that are left out get their default.  Rides that the rider has not boarded take the new profile over,
        except for values that were set for one ride; their drivers and vehicles are checked again, and if one no longer
        fits, the exception `accommodation_mismatch` opens.  ETag and If-Match are those of the rider.
        """
        change = accommodation_change.change_accommodation(
            rider_id=id,
            needs=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        self.record_read("riders.read_accommodation", subject_type="rider", subject_id=id, rider_ids=[id])
        return self.answer(change, version=change.profile.rider.version)
