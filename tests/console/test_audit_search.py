"""Audit search: an auditor finds every access to a rider."""

import pytest
from django.db import connection
from django.db.models import Q

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.audit.services import audit
from lib.ids import uuid7
from tests import factories
from tests.console.admin_pages import context_of, signed_in_as

pytestmark = pytest.mark.django_db


def test_auditor_finds_who_saw_a_rider() -> None:
    rider, other = factories.RiderFactory.create_batch(2)
    by = factories.principal(UserRole.DISPATCHER)
    for action, riders in (
        ("rides.list", [other.pk, rider.pk]),
        ("rides.list", [other.pk]),
        ("riders.read", [rider.pk]),
    ):
        audit.record(by=by, action=action, rider_ids=riders)
    audit.record(by=by, action="riders.update", subject_type="rider", subject_id=rider.pk)
    audit.record(by=by, action="facilities.read", subject_type="facility", subject_id=by.id)
    client = signed_in_as(UserRole.AUDITOR)

    def found(word: object) -> list[str]:
        shown = context_of(client.post("/admin/audit/auditentry/", {"q": f" {word} "}))["cl"].result_list
        return sorted(row.action for row in shown)

    assert found(rider.pk) == ["riders.read", "riders.update", "rides.list"]
    assert found(by.id) == ["facilities.read", *["riders.read", "riders.update", "rides.list", "rides.list"]]
    assert found("riders.") == ["riders.read", "riders.update"]


def test_trail_of_a_rider_is_found_by_an_index() -> None:
    rows = AuditEntry.objects.filter(Q(rider_ids__contains=[uuid7()]) | Q(subject_type="rider", subject_id=uuid7()))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")

    plan = rows.explain()

    assert "audit_of_rider" in plan
    assert "audit_of_subject" in plan
