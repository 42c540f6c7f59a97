"""Display preferences of a person; each person sets their own."""

from collections.abc import Collection
from typing import cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ListPreferences, User
from lib.access import Principal
from lib.errors import InvalidInput


def prefer(
    *,
    single_keys: bool,
    compact: bool,
    twelve_hours: bool | None,
    alert_sound: bool,
    alert_notices: bool,
    language: str,
    by: Principal,
) -> None:
    """Save the caller's display preferences; they apply from the next request on, in every browser.

    `twelve_hours` None: the clock of the organization.  `language` is one of settings.LANGUAGES, or empty for the
    language of the browser.
    """
    User.objects.filter(pk=cast(UUID, by.id)).update(
        single_keys=single_keys,
        compact=compact,
        twelve_hours=twelve_hours,
        alert_sound=alert_sound,
        alert_notices=alert_notices,
        language=language,
    )


@transaction.atomic
def save_columns(*, page: str, rows: int, offered: Collection[str], visible: Collection[str], by: Principal) -> None:
    """Save the caller's preferences for a list: rows per page, and which of the `offered` columns are shown.

    Columns that are not in `offered` keep their setting.

    Raises:
        InvalidInput: no column would be left.
    """
    left_out = set(offered) - set(visible)
    if left_out and not set(offered) & set(visible):
        raise InvalidInput("columns", _("Leave at least one column."), detail_code="required")
    preferences, _created = ListPreferences.objects.select_for_update().get_or_create(
        user_id=cast(UUID, by.id), page=page
    )
    preferences.rows = rows
    preferences.hidden_columns = sorted(set(preferences.hidden_columns) - set(offered) | left_out)
    preferences.save(update_fields=["rows", "hidden_columns"])
