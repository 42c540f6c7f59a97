"""Scans of credentials: uploaded, downloaded and removed, and their errors."""

import datetime as dt
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.accounts.services import reencryption
from apps.audit.models import AuditEntry
from apps.fleet.models import Credential, Document
from apps.fleet.rules.credentials import Subject
from apps.fleet.services import credentials, documents
from lib.access import Principal, system
from lib.errors import InvalidInput, NotFound
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_driver, fit_vehicle
from tests.fleet.scans import JPEG, PDF, PNG

pytestmark = pytest.mark.django_db

FLEET = "/console/fleet/"


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


@pytest.fixture
def credential() -> Credential:
    return fit_driver().credentials.get(type="mvr")


@pytest.fixture
def by() -> Principal:
    return factories.principal(UserRole.DISPATCH_SUPERVISOR)


def _to(credential: Credential) -> str:
    return f"{FLEET}credentials/{credential.pk}/documents/"


def _of(document: Document, act: str = "") -> str:
    return f"{FLEET}documents/{document.pk}/{act}"


def _file(data: bytes = PDF, name: str = "Diaz Ada license.pdf", type_: str = "application/pdf") -> dict[str, Any]:
    return {"document": SimpleUploadedFile(name, data, type_)}


def _kept(credential: Credential, data: bytes = PDF) -> Document:
    return documents.add(credential_id=credential.pk, data=data, size=len(data), by=system(), at=NOW)


def _rows() -> list[Any]:
    return list(Document.objects.order_by("pk").values())


def _trail(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action))


@pytest.mark.parametrize(
    ("data", "kind", "ending"),
    [(PDF, "application/pdf", "pdf"), (JPEG, "image/jpeg", "jpg"), (PNG, "image/png", "png")],
)
def test_a_scan_is_kept_and_given_back_as_a_file_to_be_saved(
    desk: Client, credential: Credential, data: bytes, kind: str, ending: str
) -> None:
    done = desk.post(_to(credential), _file(data, "x.exe", "text/html"), follow=True)

    document = Document.objects.get()
    assert told(done) == ["The scan is saved."]
    assert (document.kind, document.size, document.added_at, document.added_by[:5]) == (kind, len(data), NOW, "user:")
    assert "Save scan 1" in text_of(done)
    answer = desk.get(_of(document))
    assert (answer.status_code, answer.content) == (200, data)
    assert {name: answer[name] for name in ("Content-Type", "X-Content-Type-Options", "Cache-Control")} == {
        "Content-Type": kind, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
    }  # fmt: skip
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["Content-Disposition"] == f'attachment; filename="mvr-{document.pk.hex[-6:]}.{ending}"'


def test_every_look_is_in_the_trail_and_so_is_what_was_added(desk: Client, credential: Credential) -> None:
    desk.post(_to(credential), _file())
    document = Document.objects.get()
    for _ in range(2):
        desk.get(_of(document))

    looks = _trail("documents.read")
    assert [(one.subject_type, one.subject_id) for one in looks] == [("driver", credential.driver_id)] * 2
    assert looks[0].details == {"documentId": str(document.pk), "credentialId": str(credential.pk), "type": "mvr"}
    assert [one.details for one in _trail("documents.add")] == [looks[0].details]


def test_a_scan_is_sealed_and_bound_to_its_row(credential: Credential) -> None:
    first, other = _kept(credential, PDF), _kept(credential, PNG)

    with connection.cursor() as cursor:
        cursor.execute("SELECT content_encrypted, digest FROM fleet_document")
        stored = b"".join(bytes(part) for row in cursor.fetchall() for part in row)
    assert b"PDF" not in stored
    assert b"IHDR" not in stored
    sealed = Document.objects.get(pk=first.pk).content_encrypted
    Document.objects.filter(pk=other.pk).update(content_encrypted=sealed)
    with pytest.raises(InvalidTag):
        _ = Document.objects.get(pk=other.pk).content


def test_nothing_of_the_name_of_the_file_is_kept(desk: Client, credential: Credential) -> None:
    done = desk.post(_to(credential), _file(), follow=True)

    assert "Ada" not in text_of(done)
    assert "license" not in repr(_rows())


def test_a_scan_that_is_sent_twice_is_kept_once(desk: Client, credential: Credential) -> None:
    for _ in range(2):
        desk.post(_to(credential), _file())

    assert Document.objects.count() == len(_trail("documents.add")) == 1
    row = Document.objects.get()
    row.pk = uuid7()
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "This field is required."),
        (b"", "The submitted file is empty."),
        (b"<html><script>alert(1)</script></html>", "The file is neither PDF nor JPEG nor PNG, or not whole."),
        (b"<html>" + PDF, "The file is neither PDF nor JPEG nor PNG, or not whole."),
        (PDF[:-6], "The file is neither PDF nor JPEG nor PNG, or not whole."),
        (PDF + b" " * 2_000, "The file is larger than 0.00191 MB."),
    ],
)
def test_what_is_no_scan_is_refused_beside_the_field(
    desk: Client, credential: Credential, data: bytes | None, said: str, settings: Any
) -> None:
    settings.UPLOAD_MAX_BYTES = 2_000

    answer = desk.post(_to(credential), {} if data is None else _file(data))

    assert answer.status_code == 422
    assert answer.context["scan"].errors == {"document": [said]}
    assert _rows() == []


def test_a_service_takes_nothing_that_is_empty_or_cut_off(credential: Credential, by: Principal) -> None:
    for data, size in ((b"", 0), (b"", 7), (PDF, len(PDF) + 1)):
        with pytest.raises(InvalidInput):
            documents.add(credential_id=credential.pk, data=data, size=size, by=by, at=NOW)

    assert _rows() == []


def test_a_credential_has_so_many_scans_and_no_more(desk: Client, credential: Credential) -> None:
    for number in range(documents.MOST):
        _kept(credential, PDF.replace(b"/Root", b"/Root" + b" " * number))

    answer = desk.post(_to(credential), _file(PNG))

    assert answer.status_code == 422
    assert answer.context["scan"].non_field_errors() == ["A credential has at most 10 scans: remove one first."]
    assert "A credential has at most 10 scans." in text_of(answer)
    assert "Add the scan" not in text_of(answer)
    assert Document.objects.count() == documents.MOST


def test_a_scan_is_removed_for_good_and_the_reason_stays(desk: Client, credential: Credential) -> None:
    document = _kept(credential)

    done = desk.post(_of(document, "remove/"), {"reason": " Somebody else's license "}, follow=True)

    document.refresh_from_db()
    assert told(done) == ["The scan is removed."]
    assert "None yet." in text_of(done)
    assert (document.content_encrypted, document.content, document.removed_at) == (None, b"", NOW)
    assert (document.removed_by[:5], document.removal_reason) == ("user:", "Somebody else's license")
    assert _trail("documents.remove")[0].reason == "Somebody else's license"
    assert desk.get(_of(document)).status_code == 404
    again = desk.post(_of(document, "remove/"), {"reason": "x"}, follow=True)
    assert told(again) == ["Someone else has already removed this scan."]
    assert _kept(credential).pk != document.pk  # the same file may be uploaded again


def test_a_removal_asks_for_a_reason(desk: Client, credential: Credential, by: Principal) -> None:
    document, other = _kept(credential), _kept(credential, PNG)
    before = _rows()

    answer = desk.post(_of(document, "remove/"), {"reason": " "})
    with pytest.raises(InvalidInput):
        documents.remove(document_id=document.pk, reason=" ", by=by, at=NOW)

    assert answer.status_code == 422
    open_ones = [one["scan"].pk for one in answer.context["scans"] if one["remove"].errors]
    assert open_ones == [document.pk] != [other.pk]
    assert _rows() == before


def test_scans_of_a_replaced_credential_are_refused(desk: Client, credential: Credential) -> None:
    told_by: dict[str, Any] = {"by": factories.principal(UserRole.DISPATCH_SUPERVISOR), "at": NOW}
    credentials.file(subject=Subject.DRIVER, subject_id=credential.subject_id, type="mvr", details={}, **told_by)

    answer = desk.post(_to(credential), _file(), follow=True)

    assert told(answer) == ["Another credential has replaced it in the meantime. This is the current one."]
    assert _rows() == []


@pytest.mark.parametrize("role", sorted(role for role in UserRole if Scope.DRIVERS_WRITE not in SCOPES_OF_USER[role]))
def test_scans_are_for_those_who_may_change_credentials(role: UserRole, credential: Credential) -> None:
    document, client = _kept(credential), visitor(role)
    before = _rows()

    answers = [client.get(_of(document)), client.post(_to(credential), _file(PNG))]
    answers.append(client.post(_of(document, "remove/"), {"reason": "x"}))

    assert {answer.status_code for answer in answers} == {403}
    assert (_rows(), _trail("documents.read")) == (before, [])


def test_scans_out_of_reach_are_not_there() -> None:
    ours, theirs = fit_driver(), fit_vehicle()
    own, other = _kept(ours.credentials.get(type="mvr")), _kept(theirs.credentials.get(type="insurance"))
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(ours.provider)
    bound = Client()
    sign_in(bound, person)
    before = _rows()

    answers = [bound.get(_of(other)), bound.post(_of(other, "remove/"), {"reason": "x"})]
    answers += [bound.post(_to(other.credential), _file(PNG)), bound.get(_of(Document()))]

    assert {answer.status_code for answer in answers} == {404}
    assert _rows() == before
    assert bound.get(_of(own)).status_code == 200
    with pytest.raises(NotFound):
        documents.remove(document_id=uuid7(), reason="x", by=system(), at=NOW)


def test_scans_change_keys_with_everything_else(credential: Credential, settings: Any) -> None:
    document, seen = _kept(credential), []
    settings.ENCRYPTION_KEYS = ["new:" + "A" * 43 + "=", *settings.ENCRYPTION_KEYS]

    reencryption.reencrypt(by=system(), rows_at_once=200, report=lambda progress: seen.append(progress.column))

    row = Document.objects.get(pk=document.pk)
    assert bytes(row.content_encrypted or b"").startswith(b"new:")
    assert row.content == PDF
    assert "fleet_document.content" in seen


def test_large_rows_are_reencrypted_in_small_batches(credential: Credential, settings: Any) -> None:
    for number in range(5):
        _kept(credential, PDF.replace(b"/Root", b"/Root" + b" " * number))
    settings.ENCRYPTION_KEYS = ["new:" + "A" * 43 + "=", *settings.ENCRYPTION_KEYS]
    seen: list[int] = []

    reencryption.reencrypt(
        by=system(),
        rows_at_once=200,
        report=lambda progress: seen.append(progress.seen) if progress.column == "fleet_document.content" else None,
    )

    assert seen == [Document.REENCRYPTED_AT_ONCE, 5]


def test_the_name_of_a_document_says_nothing(credential: Credential) -> None:
    document = _kept(credential)

    assert str(document) == f"document {document.pk}"
    assert dt.timedelta(0) == NOW - document.added_at
