"""How pages are for one person: each for themselves, and nobody else."""

from typing import cast
from uuid import UUID

from apps.accounts.models import User
from lib.access import Principal


def prefer(*, single_keys: bool, compact: bool, twelve_hours: bool, language: str, by: Principal) -> None:
    """Keep how the caller wants their pages; it holds from their next request on, in every browser.

    `language` is one of settings.LANGUAGES; empty: as the browser says.
    """
    wanted = {"single_keys": single_keys, "compact": compact, "twelve_hours": twelve_hours, "language": language}
    User.objects.filter(pk=cast(UUID, by.id)).update(**wanted)
