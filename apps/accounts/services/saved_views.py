"""Saved views: named filters of a list, for the owner, their role or everybody."""

from datetime import datetime
from typing import Final, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import SavedView, SharedWith, User
from lib.access import Principal
from lib.errors import InvalidInput, NotFound

MOST: Final = 30  # per page and person; a longer list would be hard to use


@transaction.atomic
def save(
    *, page: str, name: str, query: str, by: Principal, at: datetime, shared_with: str = SharedWith.NOBODY
) -> SavedView:
    """Save the filters of a page under a name, replacing a view with that name.

    Raises:
        InvalidInput: the caller has the maximum number of views of the page.
    """
    owner = _locked(by)
    other_views = SavedView.objects.filter(user_id=owner, page=page).exclude(name=name)
    if other_views.count() >= MOST:
        raise InvalidInput(
            "name", _("There are %(most)s views already: remove one first."), detail_code="too_many", most=MOST
        )
    columns = {"query": query, "shared_with": shared_with, "created_at": at}
    view, _created = SavedView.objects.update_or_create(user_id=owner, page=page, name=name, defaults=columns)
    return view


@transaction.atomic
def change(*, view_id: UUID, name: str, shared_with: str, by: Principal) -> SavedView:
    """Rename a view, or share it with others.

    Raises:
        NotFound: the caller has no such view.
        InvalidInput: another view of theirs for the same page has that name.
    """
    owner = _locked(by)
    view = SavedView.objects.filter(pk=view_id, user_id=owner).first()
    if view is None:
        raise NotFound(_("view"))
    if SavedView.objects.filter(user_id=owner, page=view.page, name=name).exclude(pk=view_id).exists():
        raise InvalidInput("name", _("You already have a view with this name."), detail_code="taken")
    view.name, view.shared_with = name, shared_with
    view.save(update_fields=["name", "shared_with"])
    return view


@transaction.atomic
def remove(*, view_id: UUID, by: Principal) -> None:
    """Delete a view.

    Raises:
        NotFound: the caller has no such view.
    """
    deleted_count, _rows = SavedView.objects.filter(pk=view_id, user_id=cast(UUID, by.id)).delete()
    if not deleted_count:
        raise NotFound(_("view"))


def _locked(by: Principal) -> UUID:
    """Lock the owner and return their id, so that concurrent requests count views and check names in sequence."""
    owner = cast(UUID, by.id)  # only people save views
    User.objects.select_for_update().get(pk=owner)
    return owner
