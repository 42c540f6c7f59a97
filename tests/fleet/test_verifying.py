"""Two-person rule for credentials: one user enters it, another verifies it."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Credential, Driver
from apps.fleet.queries import active_credentials
from apps.fleet.rules.credentials import Subject
from apps.fleet.services import credentials
from lib.access import Principal
from tests import factories
from tests.callers import api_with
from tests.factories import NOW
from tests.fleet.crew import fit_driver

pytestmark = pytest.mark.django_db


@pytest.fixture
def driver() -> Driver:
    return fit_driver()


def _file(driver: Driver, by: Principal) -> Credential:
    told: dict[str, Any] = {"by": by, "at": NOW}
    return credentials.file(subject=Subject.DRIVER, subject_id=driver.pk, type="mvr", details={}, **told)


def test_who_enters_a_credential_does_not_verify_it(driver: Driver) -> None:
    ada, ben = factories.principal(), factories.principal()
    credential = _file(driver, ada)
    before = AuditEntry.objects.count()

    with pytest.raises(credentials.EnteredByTheSame):
        credentials.verify(credential_id=credential.pk, by=ada, at=NOW)

    credential.refresh_from_db()
    assert (credential.entered_by, credential.verified_at, AuditEntry.objects.count()) == (ada.actor, None, before)
    credentials.verify(credential_id=credential.pk, by=ben, at=NOW)
    credential.refresh_from_db()
    assert (credential.verified_by, credential.verified_at) == (ben.actor, NOW)


def test_person_who_entered_it_may_reject_but_not_verify(driver: Driver) -> None:
    ada = factories.principal()
    credential = _file(driver, ada)
    credentials.reject(credential_id=credential.pk, reason="Unreadable", by=ada, at=NOW)

    with pytest.raises(credentials.EnteredByTheSame):
        credentials.verify(credential_id=credential.pk, by=ada, at=NOW)


def test_database_refuses_verification_by_the_same_person(driver: Driver) -> None:
    ada = factories.principal()
    credential = _file(driver, ada)

    with pytest.raises(IntegrityError, match="credential_verified_by_another"), transaction.atomic():
        Credential.objects.filter(pk=credential.pk).update(verified_at=NOW, verified_by=ada.actor)


def test_credentials_from_before_are_verified_by_anybody(driver: Driver) -> None:
    credential = driver.credentials.get(type="mvr")
    assert credential.entered_by == ""

    credentials.verify(credential_id=credential.pk, by=factories.principal(), at=NOW)


def test_verification_does_not_affect_the_status(driver: Driver) -> None:
    _file(driver, factories.principal())

    (mvr,) = [one for one in active_credentials([driver.pk], [])[driver.pk] if one.type == "mvr"]

    assert (mvr.verified, credentials.subject_of(driver.credentials.first() or Credential())) == (False, "driver")
    assert next(one for one in active_credentials([driver.pk], [])[driver.pk] if one.type != "mvr").verified


def test_a_token_does_not_verify_what_it_entered(driver: Driver) -> None:
    api = api_with(TokenRole.FULL_ACCESS)
    filed = api.post(f"/api/drivers/{driver.pk}/credentials", {"type": "mvr"})
    path = f"/api/credentials/{filed.json()['id']}/verify"

    own, other = api.post(path), api_with(TokenRole.FULL_ACCESS).post(path)

    assert (own.status_code, own.json()["error"]["code"]) == (422, "RULE_VIOLATION")
    assert other.status_code == 204
