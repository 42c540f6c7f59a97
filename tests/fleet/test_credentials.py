"""Status of a credential on a day, and the required credentials."""

import datetime as dt
from typing import Any

import pytest

from apps.fleet.models import Credential, CredentialType
from apps.fleet.queries import active_credentials, with_valid_credentials
from apps.fleet.rules.credentials import (
    BLOCKING_BY_DEFAULT,
    TYPES_OF,
    CredentialFacts,
    CredentialStatus,
    Subject,
    Urgency,
    credential_status,
    missing_or_expired,
    urgency,
)
from tests import factories

DAY = dt.date(2026, 11, 20)


def credential(type: str = "mvr", **given: Any) -> CredentialFacts:
    return CredentialFacts(
        **({"type": type, "expires_on": None, "rejected": False, "blocking": True, "warn_days": 30} | given)
    )


def test_every_type_belongs_to_drivers_or_vehicles() -> None:
    assert sorted([*TYPES_OF[Subject.DRIVER], *TYPES_OF[Subject.VEHICLE]]) == sorted(CredentialType.values)
    assert all(BLOCKING_BY_DEFAULT[subject] <= set(TYPES_OF[subject]) for subject in Subject)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, CredentialStatus.MISSING),
        ({}, CredentialStatus.VALID),
        ({"rejected": True}, CredentialStatus.REJECTED),
        ({"rejected": True, "expires_on": DAY - dt.timedelta(days=1)}, CredentialStatus.REJECTED),
        ({"expires_on": DAY - dt.timedelta(days=1)}, CredentialStatus.EXPIRED),
        ({"expires_on": DAY}, CredentialStatus.EXPIRING),
        ({"expires_on": DAY + dt.timedelta(days=29)}, CredentialStatus.EXPIRING),
        ({"expires_on": DAY + dt.timedelta(days=30)}, CredentialStatus.VALID),
        ({"expires_on": DAY, "warn_days": 0}, CredentialStatus.VALID),
    ],
)
def test_standing_turns_on_the_days_it_should(given: dict[str, Any] | None, expected: CredentialStatus) -> None:
    assert credential_status(None if given is None else credential(**given), DAY) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rejected": True, "expires_on": DAY}, Urgency.REJECTED),
        ({"expires_on": DAY - dt.timedelta(days=1)}, Urgency.EXPIRED),
        ({"expires_on": DAY}, Urgency.WITHIN_7),
        ({"expires_on": DAY + dt.timedelta(days=7)}, Urgency.WITHIN_7),
        ({"expires_on": DAY + dt.timedelta(days=8)}, Urgency.WITHIN_30),
        ({"expires_on": DAY + dt.timedelta(days=30)}, Urgency.WITHIN_30),
        ({"expires_on": DAY + dt.timedelta(days=31), "warn_days": 90}, Urgency.WITHIN_60),
        ({"expires_on": DAY + dt.timedelta(days=60)}, Urgency.WITHIN_60),
        ({"expires_on": DAY + dt.timedelta(days=61)}, Urgency.VALID),
        ({}, Urgency.VALID),
    ],
)
def test_urgency_turns_on_the_days_it_should(given: dict[str, Any], expected: Urgency) -> None:
    assert urgency(credential(**given), DAY, needed=False) is expected


def test_required_credential_never_filed_is_missing() -> None:
    assert urgency(None, DAY, needed=True) is Urgency.MISSING
    assert urgency(None, DAY, needed=False) is Urgency.NOT_FILED


def test_lapses_are_needed_credentials_that_do_not_hold() -> None:
    credentials = [
        credential("tb_test", blocking=True, rejected=True),
        credential("driver_license", expires_on=DAY - dt.timedelta(days=1)),
        credential("mvr", blocking=False, rejected=True),
        credential("drug_screen", blocking=False, rejected=True),
        credential("background_check"),
    ]

    found = [(gap.type, gap.status) for gap in missing_or_expired(Subject.DRIVER, credentials, DAY)]

    assert found == [
        ("driver_license", CredentialStatus.EXPIRED),
        ("exclusion_check_oig", CredentialStatus.MISSING),
        ("tb_test", CredentialStatus.REJECTED),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("subject", list(Subject))
@pytest.mark.parametrize(
    "columns",
    [
        None,
        {},
        {"expires_on": None},
        {"expires_on": DAY},
        {"expires_on": DAY - dt.timedelta(days=1)},
        {"rejected": True, "verified_at": None, "verified_by": ""},
        {"replaced": True},
        {"blocking": False, "expires_on": DAY - dt.timedelta(days=1)},
    ],
)
@pytest.mark.parametrize("default", [True, False])
def test_credentials_are_in_order_in_sql_where_nothing_lapses(
    subject: Subject, columns: dict[str, Any] | None, default: bool
) -> None:
    """One credential in every state, of a blocking type or not, besides all other required ones."""
    driver = factories.DriverFactory.create()
    vehicle = factories.VehicleFactory.create()
    owner = driver if subject is Subject.DRIVER else vehicle
    factories.file_credentials(driver, vehicle)
    by_default = BLOCKING_BY_DEFAULT[subject]
    kind = next(kind for kind in TYPES_OF[subject] if (kind in by_default) is default)
    own = {"driver": None, "vehicle": None, subject.value: owner}
    Credential.objects.filter(**{subject.value: owner}, type=kind).delete()
    if columns is not None:
        factories.CredentialFactory.create(**own, type=kind, **columns)
    credentials = active_credentials([driver.pk], [vehicle.pk]).get(owner.pk, [])

    rows: Any = type(owner).objects
    found = rows.filter(with_valid_credentials(subject, DAY))

    assert list(found) == ([] if missing_or_expired(subject, credentials, DAY) else [owner])
