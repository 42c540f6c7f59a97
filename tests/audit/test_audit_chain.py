"""The hash chain over the audit trail detects changes that the triggers could not prevent."""

import hashlib
from collections.abc import Callable
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.audit.models import AuditEntry, AuditSeal
from apps.audit.services import audit, audit_chain
from apps.audit.tasks import seal_audit_trail
from lib.access import Principal, system
from lib.api.json import canonical
from lib.ids import uuid7

pytestmark = pytest.mark.django_db


@pytest.fixture
def trail() -> list[AuditEntry]:
    for number in range(5):
        audit.record(by=system(), action="riders.read", rider_ids=[uuid7(), uuid7()], details={"n": number})
    audit_chain.seal()
    return list(AuditEntry.objects.order_by("seal__number"))


def tamper(sql: str, *values: str | int | UUID) -> None:
    """Act as the table owner: disable the triggers and alter history."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in ("audit_auditentry", "audit_auditseal"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(sql, [str(value) if isinstance(value, UUID) else value for value in values])


def test_whole_trail_is_sealed_in_order(trail: list[AuditEntry]) -> None:
    head, wrong = audit_chain.verify()

    assert wrong == []
    assert head.number == len(trail) == 5
    assert list(AuditSeal.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5]


def test_sealing_goes_on_where_it_stopped(trail: list[AuditEntry], dispatcher: Principal) -> None:
    before, _ = audit_chain.verify()
    audit.record(by=dispatcher, action="rides.read")

    seal_audit_trail()
    seal_audit_trail()

    head, wrong = audit_chain.verify(stored_head=before)
    assert (head.number, wrong) == (6, [])


def test_first_link_is_the_digest_of_the_first_entry() -> None:
    audit.record(by=system(), action="a")
    audit_chain.seal()

    row = AuditEntry.objects.values(*audit_chain._COLUMNS).get()
    assert bytes(AuditSeal.objects.get().digest) == hashlib.sha256(canonical(row)).digest()


@pytest.mark.parametrize("column", ["actor", "action", "reason", "outcome", "request_id", "role", "phi"])
def test_altered_entry_is_found(trail: list[AuditEntry], column: str) -> None:
    tamper(f"UPDATE audit_auditentry SET {column} = 'done2' WHERE id = %s", trail[2].pk)  # noqa: S608  # from above

    _, wrong = audit_chain.verify()

    assert wrong == [f"entry {trail[2].pk} (seal 3) or its place in the trail was altered"]


def test_altered_lists_and_times_are_found(trail: list[AuditEntry]) -> None:
    tamper("UPDATE audit_auditentry SET rider_ids = rider_ids[1:1] WHERE id = %s", trail[0].pk)
    tamper("UPDATE audit_auditentry SET at = at + interval '1 microsecond' WHERE id = %s", trail[1].pk)
    tamper("UPDATE audit_auditentry SET details = '{}' WHERE id = %s", trail[2].pk)

    _, wrong = audit_chain.verify()

    assert len(wrong) == 3


def test_removed_entry_is_found(trail: list[AuditEntry]) -> None:
    tamper("DELETE FROM audit_auditseal WHERE number = 3")
    tamper("DELETE FROM audit_auditentry WHERE id = %s", trail[2].pk)

    _, wrong = audit_chain.verify()

    assert wrong[0] == "seals 3 to 3 are missing"


def test_swapped_entries_are_found(trail: list[AuditEntry]) -> None:
    audit.record(by=system(), action="spare")
    spare = AuditEntry.objects.get(action="spare").pk
    for entry, number in ((spare, 2), (trail[1].pk, 3), (trail[2].pk, 2)):
        tamper("UPDATE audit_auditseal SET entry_id = %s WHERE number = %s", entry, number)

    _, wrong = audit_chain.verify()

    assert len(wrong) == 2


def test_end_that_was_cut_off_is_found_by_a_head_kept_elsewhere(trail: list[AuditEntry]) -> None:
    head, _ = audit_chain.verify()
    tamper("DELETE FROM audit_auditseal WHERE number > 3")
    tamper("DELETE FROM audit_auditentry WHERE id IN (%s, %s)", trail[3].pk, trail[4].pk)

    assert audit_chain.verify()[1] == []
    assert audit_chain.verify(stored_head=head)[1] == ["seals 4 to 5 are missing at the end"]


def test_trail_written_anew_is_found_by_a_head_kept_elsewhere(trail: list[AuditEntry]) -> None:
    head, _ = audit_chain.verify()
    tamper("DELETE FROM audit_auditseal")
    tamper("UPDATE audit_auditentry SET actor = 'user:nobody' WHERE id = %s", trail[0].pk)
    audit_chain.seal()

    assert audit_chain.verify()[1] == []
    assert audit_chain.verify(stored_head=head)[1] == ["seal 5 differs from the stored one"]


def test_command_prints_the_head_and_takes_it_back(trail: list[AuditEntry], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("verify_audit")
    head = capsys.readouterr().out.strip()

    call_command("verify_audit", head=head)

    assert head.startswith("5:")


@pytest.mark.parametrize("break_it", [lambda: tamper("DELETE FROM audit_auditseal WHERE number = 2"), lambda: None])
def test_command_fails_when_the_trail_does_not_hold(trail: list[AuditEntry], break_it: Callable[[], None]) -> None:
    break_it()

    with pytest.raises(CommandError, match="altered"):
        call_command("verify_audit", head="9:00")
    with pytest.raises(CommandError, match="NUMBER:DIGEST"):
        call_command("verify_audit", head="nine")
