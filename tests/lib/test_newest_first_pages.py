"""Pages of rows, newest first."""

from typing import Any

import pytest

from apps.accounts.models import ApiClient
from lib.ids import uuid_or_none
from lib.pagination import newest_first
from tests import factories


@pytest.mark.django_db
def test_pages_follow_each_other_without_a_gap_or_a_repeat() -> None:
    made = [factories.ApiClientFactory.create() for _ in range(5)]

    first = newest_first(ApiClient.objects.all(), "", size=2)
    second = newest_first(ApiClient.objects.all(), first.next, size=2)
    third = newest_first(ApiClient.objects.all(), second.next, size=2)

    assert first.rows + second.rows + third.rows == made[::-1]
    assert third.next == ""


@pytest.mark.django_db
def test_page_that_is_just_full_is_the_last() -> None:
    factories.ApiClientFactory.create_batch(2)

    assert newest_first(ApiClient.objects.all(), "nonsense", size=2).next == ""


@pytest.mark.parametrize("text", ["", "nonsense", None, 7])
def test_what_is_no_id_is_none(text: Any) -> None:
    assert uuid_or_none(text) is None
