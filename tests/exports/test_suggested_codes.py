"""Billing codes that exports suggest, as admins edit them."""

import pytest

from apps.accounts.rules.roles import UserRole
from apps.exports.models import SuggestedCode
from tests import factories
from tests.console.admin_pages import address_of, context_of, form_of, signed_in_as

pytestmark = pytest.mark.django_db


def test_admin_lists_codes_and_changes_them_in_their_form() -> None:
    SuggestedCode.objects.all().delete()
    code = SuggestedCode.objects.create(item="ambulatory", payer=factories.PayerFactory.create(), code="A0100")
    client = signed_in_as(UserRole.ADMIN)

    listed = client.get(address_of(SuggestedCode, "changelist"))
    page = address_of(SuggestedCode, "change", code.pk)
    wrong = client.post(page, form_of(client, page, code="taxi"))
    unchanged = SuggestedCode.objects.get().code
    saved = client.post(page, form_of(client, page, code="T2003"))

    assert [row.pk for row in context_of(listed)["cl"].result_list] == [code.pk]
    assert (wrong.status_code, unchanged) == (200, "A0100")
    assert saved.status_code == 302
    assert SuggestedCode.objects.get().code == "T2003"
