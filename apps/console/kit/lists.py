"""State of the console's lists: filters and sort order from the URL, columns and page size from the preferences."""

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

Filters = Callable[[QueryDict], ListFilter]  # creates the filter form; its choices were read before
AFTER: Final = "after"  # URL parameter: the page starts after this row


@dataclass(frozen=True, slots=True)
class SavableList:
    """A list with saved preferences, and saved views if it has `filters`, for users with one of the scopes."""

    listing: Listing
    scopes: frozenset[str]
    filters: Callable[[Principal], Filters] | None = None


class ViewForm(forms.Form):
    """Name and sharing of a saved view."""

    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        help_text=_("People you share it with see the name: do not include rider information."),
    )
    shared_with = forms.ChoiceField(
        label=_("Who sees it"),
        required=False,
        choices=[
            (SharedWith.NOBODY.value, _("Only you")),
            (SharedWith.ROLE.value, _("Everyone in your role")),
            (SharedWith.EVERYBODY.value, _("Everyone with access to this list")),
        ],
    )


@dataclass(frozen=True, slots=True)
class ListState:
    """The state of a list.  `filters`: valid filter parameters; `offered`: columns to choose from.

    A `sent` list was filtered by POST, because its filter must not be in a URL: its sort links are buttons of the form
    with the id `filters`.
    """

    listing: Listing
    filters: Mapping[str, str]
    sort: str
    rows: int
    url_rows: str  # page size in the URL; "" if it has none
    offered: Mapping[str, Any]
    columns: frozenset[str]  # visible ones of those in `offered`
    after: str = ""
    sent: bool = False

    @property
    def query(self) -> str:
        """All parameters as a query string, without the start of the page."""
        return self.query_string()

    @property
    def filter(self) -> str:
        """The filter parameters as a query string, without sort order and page size."""
        return spelled(self.filters)

    @property
    def orders(self) -> list[tuple[str, Any, bool, bool]]:
        """The sort orders for a form: URL value, label, whether it is descending, whether it is the current one."""
        values = [(value, label) for name, label in self.listing.sorts.items() for value in (name, _reversed(name))]
        return [(value, label, value.startswith(DOWN), value == self.sort) for value, label in values]

    @property
    def choices(self) -> list[tuple[str, Any, bool]]:
        """The columns for a form: name, label, and whether it is visible."""
        return [(name, label, name in self.columns) for name, label in self.offered.items()]

    def query_string(self, **changes: str) -> str:
        values = {**self.filters, "sort": self.sort, "rows": self.url_rows, **changes}
        if values["sort"] == self.listing.usual:
            values["sort"] = ""
        return spelled(values)

    def address(self, **changes: str) -> str:
        """Return the relative URL of the same list with changed parameters, starting at its first row."""
        return f"?{self.query_string(**changes)}"

    @property
    def default_url(self) -> str:
        """The relative URL of the same list in its default order."""
        return self.address(sort=self.listing.usual)


def arranged(
    request: HttpRequest,
    listing: Listing,
    filters: Mapping[str, str],
    *,
    offered: Mapping[str, Any] | None = None,
    sent: bool = False,
) -> ListState:
    """Return the state of a list from the URL, or from the form if it was `sent`, and from the user's preferences.

    One query, none for lists without pages.  `filters` is the list's filter.  `offered`: the columns to choose from, if
    they depend on the filter.
    """
    query = request.POST if sent else request.GET
    preferences = queries.list_preferences(listing.page, by=principal_of(request)) if listing.sizes else None
    offered = listing.columns if offered is None else offered
    url_rows = listing.rows(query.get("rows", ""))
    preferred_rows = listing.rows(str(preferences.rows)) if preferences else None
    return ListState(
        listing=listing,
        filters=filters,
        sort=listing.sort(query.get("sort", "")),
        rows=url_rows or preferred_rows or listing.size,
        url_rows=str(url_rows or ""),
        offered=offered,
        columns=frozenset(offered) - frozenset(preferences.hidden_columns if preferences else ()),
        after=query.get(AFTER, ""),
        sent=sent,
    )


def views_of(request: HttpRequest, state: ListState, filters: Filters) -> dict[str, Any]:
    """Return the template context of the saved views and of the form for a new one.  One query.

    Omits views of other users that filter by a facility, provider or endpoint that this user may not see: the list
    would ignore this filter and show other rows under the view's name.
    """
    by = principal_of(request)
    views = [
        {"view": view, "own": view.user_id == by.id, "current": view.query == state.query}
        for view in queries.saved_views(state.listing.page, by=by)
        if view.user_id == by.id or canonical(state.listing, QueryDict(view.query), filters) == view.query
    ]
    return {"views": views, "view_form": ViewForm(auto_id="view_%s")}


def canonical(listing: Listing, query: QueryDict, filters: Filters) -> str:
    """Return the query string of a list in canonical form: valid filters, sort order and page size, nothing else."""
    sort = listing.sort(query.get("sort", ""))
    layout = {"sort": "" if sort == listing.usual else sort, "rows": listing.rows(query.get("rows", ""))}
    return spelled({**filters(query).parameters(), **layout})


def _reversed(sort: str) -> str:
    return sort.removeprefix(DOWN) if sort.startswith(DOWN) else f"{DOWN}{sort}"
