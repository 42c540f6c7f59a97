"""Lists as people want to see them: filters kept under a name, for themselves alone."""

from datetime import datetime
from typing import Final, cast
from uuid import UUID

from django.db import transaction

from apps.accounts.models import SavedView, User
from lib.access import Principal
from lib.errors import InvalidInput, NotFound

MOST: Final = 30  # of one page and person; more are no help to find one


@transaction.atomic
def keep(*, page: str, name: str, query: str, by: Principal, at: datetime) -> SavedView:
    """Keep the filters of a page under a name; one of that name is written over.

    Raises:
        InvalidInput: the caller has as many as there may be.
    """
    owner = cast(UUID, by.id)  # people alone save views
    User.objects.select_for_update().get(pk=owner)  # two tabs at once count one after the other
    others = SavedView.objects.filter(user_id=owner, page=page).exclude(name=name)
    if others.count() >= MOST:
        raise InvalidInput("name", f"There are {MOST} views already: remove one first.", detail_code="too_many")
    wanted = {"query": query, "created_at": at}
    view, _ = SavedView.objects.update_or_create(user_id=owner, page=page, name=name, defaults=wanted)
    return view


@transaction.atomic
def remove(*, view_id: UUID, by: Principal) -> None:
    """Forget a view.

    Raises:
        NotFound: the caller has no such view.
    """
    gone, _ = SavedView.objects.filter(pk=view_id, user_id=cast(UUID, by.id)).delete()
    if not gone:
        raise NotFound("view")
