"""Values of edited rides by field and reader."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

from apps.rides.rules.change_values import ChangedValues, FieldChange, field_changes, from_json, values_of
from apps.rides.rules.disclosure import Disclosure
from lib.access import Phi

PAYER = UUID(int=7)


def test_values_are_plain_and_without_what_is_derived() -> None:
    ride = SimpleNamespace(
        pickup_at=dt.datetime(2026, 11, 20, 20, tzinfo=dt.UTC),
        payer_id=PAYER,
        program_code="",
        authorization_number=Decimal(5),
        authorization_expires_on=dt.date(2026, 12, 1),
        accommodation={"mobility": "ambulatory", "overridden": ["mobility"], "bariatric": False},
    )

    assert values_of(ride, ["pickupTime", "payer", "accommodation", "externalIds"]) == {
        "pickupTime": "2026-11-20T20:00:00Z",
        "payer": {
            "payerId": str(PAYER),
            "programCode": "",
            "authorizationNumber": "5",
            "authorizationExpires": "2026-12-01",
        },
        "accommodation": {"mobility": "ambulatory"},
    }


def test_only_visible_differences_are_listed() -> None:
    values = ChangedValues(
        {"notes": {"driver": "", "dispatcher": "a"}, "pickup": {"city": "Elgin", "name": "A"}},
        {"notes": {"driver": "x", "dispatcher": "b"}, "pickup": {"city": "Elgin", "name": "B"}},
        secrets=("payer.memberId",),
    )
    secret = FieldChange("payer.memberId", None, None)

    assert from_json(values.as_json()) == values
    assert field_changes(values, Disclosure(Phi.NONE)) == [secret]
    assert field_changes(values, Disclosure(Phi.FULL)) == [
        FieldChange("pickup.name", "A", "B"),
        FieldChange("notes.driver", None, "x"),
        secret,
    ]
    seen = field_changes(values, Disclosure(Phi.FULL, dispatcher_notes=True))
    assert FieldChange("notes.dispatcher", "a", "b") in seen
