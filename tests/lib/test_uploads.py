"""Uploaded files: in memory, up to the size limit, never on disk."""

import tempfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory


def _sent(*sizes: int) -> list[Any]:
    files = {f"file{place}": SimpleUploadedFile(f"{place}.pdf", b"x" * size) for place, size in enumerate(sizes)}
    return list(RequestFactory().post("/", files).FILES.values())


@pytest.fixture(autouse=True)
def _small(settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 3_000_000


def test_files_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file is written")

    for name in ("NamedTemporaryFile", "TemporaryFile", "mkstemp"):
        monkeypatch.setattr(tempfile, name, refuse)

    (sent,) = _sent(3_000_000)

    assert (sent.size, sent.read()) == (3_000_000, b"x" * 3_000_000)


def test_of_more_than_may_be_sent_the_size_is_known_alone() -> None:
    (sent,) = _sent(3_000_001)

    assert (sent.size, sent.read()) == (3_000_001, b"")


def test_files_of_one_request_share_what_may_be_sent() -> None:
    sent = _sent(2_000_000, 2_000_000, 1)

    assert [(one.size, len(one.read())) for one in sent] == [(2_000_000, 2_000_000), (2_000_000, 0), (1, 0)]
