"""One credential: filed, verified and rejected on its page."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Credential, Driver
from apps.fleet.rules.credentials import Subject
from apps.fleet.services import credentials
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_driver, fit_vehicle

pytestmark = pytest.mark.django_db

FLEET = "/console/fleet/"


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _of(driver: Driver, type_: str = "mvr") -> str:
    return f"{FLEET}drivers/{driver.pk}/credentials/{type_}/"


def _act(credential: Credential, act: str) -> str:
    return f"{FLEET}credentials/{credential.pk}/{act}/"


def _credentials() -> list[Any]:
    return list(Credential.objects.order_by("pk").values())


@pytest.mark.parametrize("role", sorted(role for role in UserRole if Scope.DRIVERS_WRITE not in SCOPES_OF_USER[role]))
def test_credentials_are_for_those_who_write(role: UserRole) -> None:
    driver = fit_driver()
    credential, client, before = driver.credentials.get(type="mvr"), visitor(role), _credentials()

    answers = [client.get(_of(driver)), client.post(_of(driver)), client.post(_act(credential, "verify"))]
    answers.append(client.post(_act(credential, "reject"), {"reason": "x"}))

    assert {answer.status_code for answer in answers} == {403}
    assert _credentials() == before


def test_out_of_scope_and_unknown_credentials_are_not_found(desk: Client) -> None:
    ours, theirs = fit_driver(), fit_driver()
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(ours.provider)
    bound = Client()
    sign_in(bound, person)
    credential, before = theirs.credentials.get(type="mvr"), _credentials()

    sent = {"expires_on": "2029-01-01"}
    answers = [bound.get(_of(theirs)), bound.post(_of(theirs), sent), bound.post(_act(credential, "verify"))]
    answers += [bound.post(_act(credential, "reject"), {"reason": "x"}), bound.post(_act(Credential(), "verify"))]
    answers += [desk.get(_of(ours, "insurance")), desk.get(_of(ours, "nonsense"))]
    answers += [
        desk.get(f"{FLEET}trains/{ours.pk}/credentials/mvr/"),
        desk.get(f"{FLEET}drivers/{uuid7()}/credentials/mvr/"),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert _credentials() == before


def test_a_credential_is_shown_with_what_hangs_on_it(desk: Client) -> None:
    driver = fit_driver()
    driver.credentials.filter(type="mvr").update(
        expires_on=dt.date(2026, 11, 22), issuer="Illinois", number="SECRET-4711", verified_at=NOW, verified_by="system"
    )
    ride = factories.RideFactory.create(service_date=dt.date(2026, 11, 23))
    factories.put_driver_on(ride, driver=driver)

    page = desk.get(_of(driver))

    said = text_of(page)
    assert "Motor vehicle record ▲ 2 days left" in said
    assert "1 ride is assigned on a day when this credential is not valid." in said
    assert (
        "Expiration date Nov 22, 2026 Issued Jan 1, 2024 Illinois Required Yes: no rides are assigned without it"
        in said
    )
    assert "Verified Fri, Nov 20, 09:00 Carelane" in said
    assert "SECRET-4711" not in page.content.decode()


def test_a_credential_that_is_not_on_file_can_be_filed(desk: Client) -> None:
    driver = fit_driver()
    empty = text_of(desk.get(_of(driver, "tb_test")))

    done = desk.post(
        _of(driver, "tb_test"),
        {"number": "T-1", "issuer": "Clinic", "issued_on": "2026-11-01", "expires_on": "2027-11-01"},
        follow=True,
    )

    assert "No credentials on file." in empty
    credential = driver.credentials.get(type="tb_test")
    assert (credential.number, credential.issuer, credential.blocking) == ("T-1", "Clinic", False)
    assert (credential.issued_on, credential.expires_on) == (dt.date(2026, 11, 1), dt.date(2027, 11, 1))
    assert told(done) == ["The credential is saved."]
    assert done.redirect_chain == [(f"{FLEET}drivers/{driver.pk}/#tb_test", 302)]
    assert AuditEntry.objects.get(action="credentials.file").subject_id == driver.pk


def test_newer_credential_replaces_and_keeps_the_older(desk: Client) -> None:
    vehicle = fit_vehicle()
    path = f"{FLEET}vehicles/{vehicle.pk}/credentials/insurance/"

    page = desk.get(path)
    desk.post(path, {"expires_on": "2029-01-01", "blocking": "on"})

    assert page.context["file"]["blocking"].value() is True
    assert "The current credential remains on file as replaced." in text_of(page)
    rows = vehicle.credentials.filter(type="insurance").order_by("created_at", "pk")
    assert [(row.expires_on, row.replaced, row.blocking) for row in rows] == [
        (dt.date(2028, 1, 1), True, True), (dt.date(2029, 1, 1), False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"expires_on": "2026-01-01", "issued_on": "2026-02-01"}, "expires_on"),
        ({"expires_on": "tomorrow"}, "expires_on"),
        ({"issued_on": "1812-01-01"}, "issued_on"),
        ({"number": "x" * 51}, "number"),
    ],
)
def test_invalid_credential_shows_errors_and_changes_nothing(desk: Client, given: dict[str, str], field: str) -> None:
    driver = fit_driver()
    before = _credentials()

    answer = desk.post(_of(driver), given | {"issuer": "Illinois"})

    assert (answer.status_code, list(answer.context["file"].errors)) == (422, [field])
    assert 'value="Illinois"' in answer.content.decode()
    assert _credentials() == before


def test_a_credential_is_verified_and_the_verifier_named(desk: Client) -> None:
    driver = fit_driver()
    credential = driver.credentials.get(type="mvr")

    done = desk.post(_act(credential, "verify"), follow=True)

    credential.refresh_from_db()
    assert (credential.verified_at, credential.verified_by[:5]) == (NOW, "user:")
    assert told(done) == ["The credential is verified."]
    assert "Verified Fri, Nov 20, 09:00 Pat Example" in text_of(done)
    assert done.redirect_chain == [(_of(driver), 302)]


def test_credential_is_verified_by_another_person(desk: Client) -> None:
    driver = fit_driver()
    desk.post(_of(driver), {"expires_on": "2027-11-01", "blocking": "on"})
    credential = driver.credentials.get(type="mvr", replaced=False)

    own_page, refused = desk.get(_of(driver)), desk.post(_act(credential, "verify"), follow=True)
    other = visitor(UserRole.FLEET_ADMIN)
    other_page = visitor(UserRole.ADMIN).get(_of(driver))

    assert (
        "Entered Fri, Nov 20, 09:00 Pat Example Verified not yet You entered this credential. Someone else"
        in text_of(own_page)
    )
    assert "Verify" not in text_of(own_page)
    assert told(refused) == ["You entered this credential: someone else has to verify it."]
    credential.refresh_from_db()
    assert credential.verified_at is None
    assert "◆ Not verified" in text_of(desk.get(f"{FLEET}drivers/{driver.pk}/"))
    assert "Verify" in text_of(other_page)
    assert other.post(_act(credential, "verify")).status_code == 404  # of another provider, or without one
    assert told(visitor(UserRole.ADMIN).post(_act(credential, "verify"), follow=True)) == [
        "The credential is verified."
    ]
    credential = driver.credentials.get(type="mvr", replaced=False)
    assert (credential.verified_at, credential.verified_by != credential.entered_by) == (NOW, True)


def test_rejected_credential_is_invalid_until_verified(desk: Client) -> None:
    vehicle = fit_vehicle()
    credential = vehicle.credentials.get(type="inspection")

    done = desk.post(_act(credential, "reject"), {"reason": "The stamp is missing"}, follow=True)

    credential.refresh_from_db()
    assert credential.rejected is True
    assert told(done) == ["The credential is rejected: it is no longer valid."]
    assert "Inspection ⊘ Rejected" in text_of(done)
    assert AuditEntry.objects.get(action="credentials.reject").reason == "The stamp is missing"
    desk.post(_act(credential, "verify"))
    credential.refresh_from_db()
    assert credential.rejected is False


def test_rejection_asks_for_a_reason(desk: Client) -> None:
    credential, vehicles = fit_driver().credentials.get(type="mvr"), fit_vehicle().credentials.get(type="inspection")
    before = _credentials()

    answers = [desk.post(_act(one, "reject"), {"reason": " "}) for one in (credential, vehicles)]

    assert {answer.status_code for answer in answers} == {422}
    assert answers[0].context["reject"].errors == {"reason": ["This field is required."]}
    assert _credentials() == before


@pytest.mark.parametrize("act", ["verify", "reject"])
def test_a_credential_that_was_replaced_meanwhile_stays_as_it_is(desk: Client, act: str) -> None:
    driver = fit_driver()
    credential = driver.credentials.get(type="mvr")
    told_by: dict[str, Any] = {"by": factories.principal(UserRole.DISPATCH_SUPERVISOR), "at": NOW}
    credentials.file(subject=Subject.DRIVER, subject_id=driver.pk, type="mvr", details={}, **told_by)
    before = _credentials()

    answer = desk.post(_act(credential, act), {"reason": "Wrong name"}, follow=True)

    assert told(answer) == ["Another credential has replaced it in the meantime. This is the current one."]
    assert _credentials() == before
