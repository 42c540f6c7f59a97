"""Lists as people want to see them: filters kept under a name, for themselves, their role or everybody."""

from datetime import datetime
from typing import Final, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import SavedView, SharedWith, User
from lib.access import Principal
from lib.errors import InvalidInput, NotFound

MOST: Final = 30  # of one page and person; more are no help to find one


@transaction.atomic
def keep(
    *, page: str, name: str, query: str, by: Principal, at: datetime, shared_with: str = SharedWith.NOBODY
) -> SavedView:
    """Keep the filters of a page under a name; one of that name is written over.

    Raises:
        InvalidInput: the caller has as many as there may be.
    """
    owner = _locked(by)
    others = SavedView.objects.filter(user_id=owner, page=page).exclude(name=name)
    if others.count() >= MOST:
        raise InvalidInput(
            "name", _("There are %(most)s views already: remove one first."), detail_code="too_many", most=MOST
        )
    wanted = {"query": query, "shared_with": shared_with, "created_at": at}
    view, _created = SavedView.objects.update_or_create(user_id=owner, page=page, name=name, defaults=wanted)
    return view


@transaction.atomic
def change(*, view_id: UUID, name: str, shared_with: str, by: Principal) -> SavedView:
    """Rename a view, or share it with others.

    Raises:
        NotFound: the caller has no such view.
        InvalidInput: another one of theirs of the same page has that name.
    """
    owner = _locked(by)
    view = SavedView.objects.filter(pk=view_id, user_id=owner).first()
    if view is None:
        raise NotFound(_("view"))
    if SavedView.objects.filter(user_id=owner, page=view.page, name=name).exclude(pk=view_id).exists():
        raise InvalidInput("name", _("Another view of yours is called that."), detail_code="taken")
    view.name, view.shared_with = name, shared_with
    view.save(update_fields=["name", "shared_with"])
    return view


@transaction.atomic
def remove(*, view_id: UUID, by: Principal) -> None:
    """Forget a view.

    Raises:
        NotFound: the caller has no such view.
    """
    gone, _rows = SavedView.objects.filter(pk=view_id, user_id=cast(UUID, by.id)).delete()
    if not gone:
        raise NotFound(_("view"))


def _locked(by: Principal) -> UUID:
    """Name the owner; two tabs at once count, and look for a name, one after the other."""
    owner = cast(UUID, by.id)  # people alone save views
    User.objects.select_for_update().get(pk=owner)
    return owner
