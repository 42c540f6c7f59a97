"""Reminders before credentials expire: recipients, times, repetition."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core import mail
from django.db import connection, transaction
from django.utils.translation import override

from apps.accounts.models import Alert, User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.events.models import Event
from apps.fleet.models import Credential
from apps.fleet.rules.credentials import REMINDERS, Subject, reminder
from apps.fleet.services import credential_reminders, credentials
from apps.fleet.tasks import remind as task
from apps.organizations.models import TransportProvider
from lib.access import system
from tests import factories
from tests.factories import NOW

TODAY = dt.date(2026, 11, 20)
DAY = dt.timedelta(days=1)


def _credential(days: int, **columns: Any) -> Credential:
    """Create a motor vehicle record with this many days left today."""
    made: Credential = factories.CredentialFactory.create(
        **({"type": "mvr", "expires_on": TODAY + days * DAY} | columns)
    )
    return made


def _told() -> list[str]:
    return [alert.title for alert in Alert.objects.order_by("created_at", "pk")]


def _days(*count: int) -> list[int]:
    """Send the reminders of these days from today; return how many credentials each run reported."""
    return [credential_reminders.send_expiry_reminders(at=NOW + days * DAY) for days in count]


@pytest.mark.parametrize(
    ("left", "step"),
    [(61, None), (60, 60), (31, 60), (30, 30), (15, 30), (14, 14), (8, 14), (7, 7), (1, 7), (0, 7), (-1, None)],
)
def test_steps_turn_on_the_days_they_should(left: int, step: int | None) -> None:
    assert reminder(None, TODAY + left * DAY, TODAY) == step
    assert step is None or step in REMINDERS


@pytest.mark.parametrize(
    ("life", "left", "step"), [(31, 31, None), (31, 16, None), (31, 14, 14), (13, 7, None), (120, 60, 60)]
)
def test_short_credential_is_reminded_in_its_second_half(life: int, left: int, step: int | None) -> None:
    last_day = TODAY + left * DAY

    assert reminder(last_day - life * DAY, last_day, TODAY) == step


@pytest.mark.django_db
def test_a_credential_is_told_of_once_at_each_step() -> None:
    credential = _credential(65)

    assert _days(0, 4, 5, 5, 6, 34, 35, 36, 51, 52, 58, 59, 65, 66) == [0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0]

    credential.refresh_from_db()
    assert credential.last_reminder_days == 7
    assert _told() == [
        f"A credential of a driver expires in {days} days: motor vehicle record" for days in (60, 30, 14, 7)
    ]
    assert [alert.severity for alert in Alert.objects.order_by("created_at")] == ["warning"] * 3 + ["critical"]
    assert Alert.objects.open().count() == 1


@pytest.mark.django_db
def test_missed_reminder_is_sent_without_earlier_ones() -> None:
    _credential(65)

    assert _days(55, 56) == [1, 0]
    assert _told() == ["A credential of a driver expires in 10 days: motor vehicle record"]


@pytest.mark.django_db
def test_a_newer_credential_begins_anew() -> None:
    credential = _credential(5)
    assert _days(0) == [1]
    given = {"expires_on": TODAY + 6 * DAY}
    credentials.file(
        subject=Subject.DRIVER, subject_id=credential.subject_id, type="mvr", details=given, by=system(), at=NOW
    )

    assert _days(0, 1) == [1, 0]


@pytest.mark.django_db
def test_nobody_is_told_of_what_is_nobodys_concern() -> None:
    for columns in (
        {"rejected": True, "verified_at": None, "verified_by": ""},
        {"replaced": True},
        {"expires_on": None},
    ):
        _credential(5, **columns)
    _credential(5, driver=factories.DriverFactory.create(activation="inactive"))
    _credential(5, driver=None, vehicle=factories.VehicleFactory.create(status="retired"), type="insurance")

    assert _days(0) == [0]
    assert _told() == []


@pytest.mark.django_db
def test_day_is_that_of_the_provider() -> None:
    there = factories.TransportProviderFactory.create(timezone="Pacific/Auckland")  # 04:00 on the 21st
    _credential(61, driver=factories.DriverFactory.create(provider=there))
    _credential(61)

    assert _days(0) == [1]


@pytest.mark.django_db
def test_what_is_new_at_one_provider_makes_one_alert() -> None:
    provider = factories.TransportProviderFactory.create()
    for number in range(6):
        _credential(8 + number, driver=factories.DriverFactory.create(provider=provider))
    vehicle = factories.VehicleFactory.create(provider=provider, unit_number="V17")
    _credential(1, driver=None, vehicle=vehicle, type="insurance", blocking=False)
    _credential(0, blocking=False)

    assert _days(0) == [8]

    other, alert = sorted(Alert.objects.all(), key=lambda alert: alert.title)
    assert other.title == "7 fleet credentials expire within 14 days"
    assert other.text.splitlines()[:2] == [
        "Insurance of vehicle V17: expires Nov 21, 2026, tomorrow.",
        "Motor vehicle record of a driver: expires Nov 28, 2026, in 8 days.",
    ]
    assert other.text.splitlines()[-1] == "And 2 more."
    assert other.path == f"/console/fleet/credentials/?provider={provider.pk}&status=within_60"
    assert {other.severity, alert.severity} == {"warning"}  # neither is required
    assert alert.title == "A credential of a driver expires today: motor vehicle record"
    assert alert.text == "It expires on Nov 20, 2026."
    assert alert.path.endswith("/#mvr")
    assert alert.path.startswith("/console/fleet/drivers/")


@pytest.mark.django_db
def test_alerts_are_read_in_the_language_of_the_reader() -> None:
    provider = factories.TransportProviderFactory.create()
    driver = factories.DriverFactory.create(provider=provider)
    for days, kind in enumerate(
        ("driver_license", "exclusion_check_oig", "mvr", "drug_screen", "tb_test", "dot_physical")
    ):
        _credential(days, driver=driver, type=kind)
    vehicle = factories.VehicleFactory.create(unit_number="V17")
    _credential(7, driver=None, vehicle=vehicle, type="insurance")
    with override("es"):
        assert _days(0) == [7]

    many, one = sorted(Alert.objects.all(), key=lambda alert: alert.title)
    assert many.title == "6 fleet credentials expire within 7 days"
    assert many.text.splitlines()[1] == "OIG exclusion check of a driver: expires Nov 21, 2026, tomorrow."
    with override("es"):
        assert many.title == "6 credenciales de la flota vencen dentro de 7 días"
        assert many.text.splitlines() == [
            "Licencia de conducir de un conductor: vence el 20 Nov 2026, hoy.",
            "Verificación de exclusión OIG de un conductor: vence el 21 Nov 2026, mañana.",
            "Historial de manejo de un conductor: vence el 22 Nov 2026, dentro de 2 días.",
            "Prueba de drogas de un conductor: vence el 23 Nov 2026, dentro de 3 días.",
            "Prueba de TB de un conductor: vence el 24 Nov 2026, dentro de 4 días.",
            "Y 1 más.",
        ]
        assert one.title == "Una credencial de la unidad V17 vence dentro de 7 días: seguro"
        assert one.text == "Vence el 27 Nov 2026. Sin ella no se asigna ningún traslado."


@pytest.mark.django_db
def test_each_credential_is_an_event_of_its_own_at_each_step() -> None:
    vehicle = factories.VehicleFactory.create()
    mvr, insurance = _credential(60), _credential(15, driver=None, vehicle=vehicle, type="insurance", blocking=False)

    _days(0, 1, 31)

    told = [(one.type, one.subject_id, one.sequence, one.provider_id, one.data) for one in Event.objects.order_by("pk")]
    assert all(event.subject_type == "credential" for event in Event.objects.all())
    of_mvr = {"driverId": str(mvr.driver_id), "credentialType": "mvr", "expiresOn": "2027-01-19", "blocking": True}
    of_insurance = {"vehicleId": str(vehicle.pk), "credentialType": "insurance", "expiresOn": "2026-12-05"}
    provider_id = mvr.driver.provider_id if mvr.driver else None
    assert sorted(told, key=str) == sorted(
        [
            ("driver.credential_expiring", mvr.pk, 1, provider_id, of_mvr | {"daysLeft": 60}),
            ("driver.credential_expiring", mvr.pk, 2, provider_id, of_mvr | {"daysLeft": 29}),
            *(
                (
                    "vehicle.credential_expiring",
                    insurance.pk,
                    sequence,
                    vehicle.provider_id,
                    of_insurance | {"blocking": False, "daysLeft": days},
                )
                for sequence, days in ((2, 15), (3, 14))
            ),
        ],
        key=str,
    )


@pytest.mark.django_db
def test_vehicles_alone_lead_to_their_board_and_one_to_its_page() -> None:
    vehicle = factories.VehicleFactory.create(unit_number="V17")
    _credential(30, driver=None, vehicle=vehicle, type="insurance")
    _days(0)
    for kind in ("registration", "inspection"):
        _credential(30, driver=None, vehicle=vehicle, type=kind)
    _days(1)

    first, second = Alert.objects.order_by("created_at")
    assert first.title == "A credential of vehicle V17 expires in 30 days: insurance"
    assert first.text == "It expires on Dec 20, 2026. No rides are assigned without it."
    assert first.path == f"/console/fleet/vehicles/{vehicle.pk}/#insurance"
    assert second.path == f"/console/fleet/credentials/?of=vehicles&provider={vehicle.provider_id}&status=within_60"
    assert first.resolved_at == NOW + DAY


def _admin(provider: TransportProvider | None, email: str) -> User:
    person: User = factories.UserFactory.create(role=UserRole.FLEET_ADMIN, email=email)
    if provider is not None:
        person.providers.add(provider)
    return person


@pytest.mark.django_db
def test_fleet_admins_are_mailed_once_without_names() -> None:
    driver = factories.DriverFactory.create(first_name="Wilhelmina", last_name="Oyelaran", phone="+13125550199")
    credential = _credential(14, driver=driver, number="D400-7836", issuer="Illinois")
    _admin(driver.provider, "own@example.org")
    _admin(factories.TransportProviderFactory.create(), "other@example.org")
    factories.UserFactory.create(role=UserRole.DISPATCHER, email="dana@example.org")

    task()
    task()
    sent = [alerts.send_mails(at=NOW), alerts.send_mails(at=NOW)]

    assert sent == [1, 0]
    (message,) = mail.outbox
    assert message.to == ["own@example.org"]
    said = f"{message.subject} {message.body}"
    assert "A credential of a driver expires in 14 days" in said
    assert not [one for one in ("Wilhelmina", "Oyelaran", "5550199", "D400", "Illinois") if one in said]
    assert str(credential.driver_id) in said  # the link for permitted readers


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_tell_once() -> None:
    _credential(14)

    def other_run() -> int:
        try:
            return credential_reminders.send_expiry_reminders(at=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = credential_reminders.send_expiry_reminders(at=NOW)
            second = pool.submit(other_run).result(timeout=30)
        third = credential_reminders.send_expiry_reminders(at=NOW)

    assert (first, second, third) == (1, 0, 0)
    assert len(_told()) == Event.objects.count() == 1


@pytest.mark.django_db
def test_queries_do_not_grow_with_credentials(django_assert_max_num_queries: Any) -> None:
    provider = factories.TransportProviderFactory.create()
    for _ in range(8):
        _credential(14, driver=factories.DriverFactory.create(provider=provider))

    with django_assert_max_num_queries(10):
        assert _days(0) == [8]
