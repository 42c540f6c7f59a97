"""Lists of the console as their addresses ask for them and as their readers have arranged them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext_lazy as _

from apps.accounts import queries
from apps.accounts.models import SharedWith
from apps.accounts.sessions import principal_of
from lib.access import Principal
from lib.console_forms import ListFilter
from lib.listing import DOWN, Listing, spelled

Filters = Callable[[QueryDict], ListFilter]  # makes the filter of an address, its choices having been read before
AFTER: Final = "after"  # where a page begins


@dataclass(frozen=True, slots=True)
class SavableList:
    """A list whose looks, and views where it has `filters`, are kept for people with one of the scopes."""

    listing: Listing
    scopes: frozenset[str]
    filters: Callable[[Principal], Filters] | None = None


class ViewForm(forms.Form):
    """A name for what is listed, and who else may choose it."""

    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        help_text=_("Whom you share it with reads the name: write nothing about riders into it."),
    )
    shared_with = forms.ChoiceField(
        label=_("Who sees it"),
        required=False,
        choices=[
            (SharedWith.NOBODY.value, _("Only you")),
            (SharedWith.ROLE.value, _("Everybody of your role")),
            (SharedWith.EVERYBODY.value, _("Everybody who sees this list")),
        ],
    )


@dataclass(frozen=True, slots=True)
class ListState:
    """A list as it is shown.  `asked` is its filter, known names and values alone; `offered`: columns to choose from.

    A list that is `sent` has been asked for what has no place in addresses: what arranges it anew are buttons of its
    form, whose id is `filters`.
    """

    listing: Listing
    asked: Mapping[str, str]
    sort: str
    rows: int
    said_rows: str  # in the address; "" where it does not say
    offered: Mapping[str, Any]
    columns: frozenset[str]  # that are shown, of those on offer
    after: str = ""
    sent: bool = False

    @property
    def query(self) -> str:
        """Spell all that is asked for, without where the page begins."""
        return self.spelled()

    @property
    def filter(self) -> str:
        """Spell what is asked for, but for how it is laid out."""
        return spelled(self.asked)

    @property
    def orders(self) -> list[tuple[str, Any, bool, bool]]:
        """List the orders for a form: as the address says it, its name, whether it goes down, whether it is so now."""
        both = [(one, label) for name, label in self.listing.sorts.items() for one in (name, _other_way(name))]
        return [(one, label, one.startswith(DOWN), one == self.sort) for one, label in both]

    @property
    def choices(self) -> list[tuple[str, Any, bool]]:
        """List the columns for a form: name, label, and whether it is shown."""
        return [(name, label, name in self.columns) for name, label in self.offered.items()]

    def spelled(self, **changes: str) -> str:
        values = {**self.asked, "sort": self.sort, "rows": self.said_rows, **changes}
        if values["sort"] == self.listing.usual:
            values["sort"] = ""
        return spelled(values)

    def address(self, **changes: str) -> str:
        """Write where the same list is with something changed, relative to its own page, from its first row on."""
        return f"?{self.spelled(**changes)}"

    @property
    def usually(self) -> str:
        """Write where the same list is in its usual order."""
        return self.address(sort=self.listing.usual)


def arranged(
    request: HttpRequest,
    listing: Listing,
    asked: Mapping[str, str],
    *,
    offered: Mapping[str, Any] | None = None,
    sent: bool = False,
) -> ListState:
    """Read how a list is asked for, in the address or in a form that was `sent`, and how its reader likes it.

    One query, none for lists without pages.  `asked` is the list's filter.  `offered`: the columns to choose from where
    they are not the same for every filter.
    """
    query = request.POST if sent else request.GET
    preferences = queries.list_preferences(listing.page, by=principal_of(request)) if listing.sizes else None
    offered = listing.columns if offered is None else offered
    said = listing.rows(query.get("rows", ""))
    liked = listing.rows(str(preferences.rows)) if preferences else None
    return ListState(
        listing=listing,
        asked=asked,
        sort=listing.sort(query.get("sort", "")),
        rows=said or liked or listing.size,
        said_rows=str(said or ""),
        offered=offered,
        columns=frozenset(offered) - frozenset(preferences.hidden_columns if preferences else ()),
        after=query.get(AFTER, ""),
        sent=sent,
    )


def views_of(request: HttpRequest, shown: ListState, filters: Filters) -> dict[str, Any]:
    """List the views that the reader may choose from, and the form for another one.  One query.

    What others share is left out where it asks for a facility, a provider or an endpoint out of the reader's reach: the
    list would show something else under its name.
    """
    by = principal_of(request)
    views = [
        {"view": one, "own": one.user_id == by.id, "current": one.query == shown.query}
        for one in queries.saved_views(shown.listing.page, by=by)
        if one.user_id == by.id or canonical(shown.listing, QueryDict(one.query), filters) == one.query
    ]
    return {"views": views, "view_form": ViewForm(auto_id="view_%s")}


def canonical(listing: Listing, query: QueryDict, filters: Filters) -> str:
    """Spell what an address asks of a list: what its filter knows and holds, its order, its rows, and nothing else."""
    sort = listing.sort(query.get("sort", ""))
    layout = {"sort": "" if sort == listing.usual else sort, "rows": listing.rows(query.get("rows", ""))}
    return spelled({**filters(query).known(), **layout})


def _other_way(sort: str) -> str:
    return sort.removeprefix(DOWN) if sort.startswith(DOWN) else f"{DOWN}{sort}"
