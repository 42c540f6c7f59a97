"""A booking before it becomes a ride: the input of the API, the booking page, recurring rides and the demo data.

Stops, accommodation, companions, discharge and dialysis are in the camelCase shape of the API, in which the ride stores
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _

Shape = Mapping[str, Any]


class ServiceType(TextChoices):
    APPOINTMENT = "appointment", _("Appointment")
    DIALYSIS = "dialysis", _("Dialysis")
    HOSPITAL_DISCHARGE = "hospital_discharge", _("hospital discharge")
    INTERFACILITY_TRANSFER = "interfacility_transfer", _("transfer between facilities")
    ADMISSION = "admission", _("Admission")
    THERAPY = "therapy", _("Therapy")
    PHARMACY_STOP = "pharmacy_stop", _("pharmacy stop")
    OTHER = "other", _("Other")


@dataclass(frozen=True, slots=True)
class ExternalName:
    """What another system calls the ride; `system` is the assigning authority."""

    system: str
    value: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Payment:
    """Who pays, and by which authorization."""

    payer_id: UUID | None = None
    program_code: str = ""
    authorization_number: str = ""
    authorization_expires_on: date | None = None
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Free text for one reader each; the dispatcher's never reaches drivers or webhooks."""

    driver: str = ""
    dispatcher: str = ""
    facility: str = ""


@dataclass(frozen=True, slots=True)
class ReturnLeg:
    """How the way back differs; what is None or empty follows from the way there.

    Stops swap; a dialysis return is a will-call leg estimated from chair time and treatment.
    """

    pickup_at: datetime | None = None
    will_call: bool | None = None
    pickup: Shape | None = None
    dropoff: Shape | None = None
    accommodation: Shape = field(default_factory=dict)
    vehicle_type_requested: str = ""
    notes: Notes | None = None
    client_reference: str = ""
    external_ids: tuple[ExternalName, ...] = ()


@dataclass(frozen=True, slots=True)
class RideDraft:
    """A requested ride.

    The rider is `rider_id`, or `rider` in the shape of the API, which matches by external id or creates a rider.
    `accommodation` holds the differences from the rider's profile for this ride.  Without `facility_id` the ride
    belongs to the facility where it starts, else where it ends.  `pickup` and `dropoff` may hold an `accessCode`.
    `after_the_fact`: the pickup has taken place and is only recorded: nothing is promised.
    """

    pickup_at: datetime
    pickup: Shape
    dropoff: Shape
    rider_id: UUID | None = None
    rider: Shape | None = None
    facility_id: UUID | None = None
    service_type: str = "appointment"
    priority: str = ""  # "": by service type
    appointment_at: datetime | None = None
    scheduling_anchor: str = "pickup"
    will_call: bool = False
    accommodation: Shape = field(default_factory=dict)
    companions: Shape = field(default_factory=dict)
    vehicle_type_requested: str = ""
    discharge: Shape | None = None
    dialysis: Shape | None = None
    payment: Payment = Payment()
    notes: Notes = Notes()
    requested_by: Shape = field(default_factory=dict)
    client_reference: str = ""
    external_ids: tuple[ExternalName, ...] = ()
    allow_duplicate: bool = False
    after_the_fact: bool = False
    return_leg: ReturnLeg | None = None
