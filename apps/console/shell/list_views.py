"""Saved preferences of lists (page size, columns) and saved views."""

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import queries
from apps.accounts.models import SavedView
from apps.accounts.services import preferences, saved_views
from apps.accounts.sessions import principal_of
from apps.console.kit.lists import SavableList, ViewForm, canonical
from apps.console.kit.rights import UNPROCESSABLE, RightMissing
from lib.access import Principal
from lib.console_forms import add_errors
from lib.errors import DomainError
from lib.listing import spelled

Lists = Mapping[str, SavableList]


@require_POST
def arrange(request: HttpRequest, page: str, lists: Lists) -> HttpResponse:
    """Save page size and columns of a list, and show the list with them and the selected sort order."""
    by = principal_of(request)
    listing = _get_list(page, lists, by).listing
    params = QueryDict(request.POST.get("query", "")).dict()
    rows = listing.rows(request.POST.get("rows", ""))
    offered = set(request.POST.getlist("offered")) & set(listing.columns)
    sort = listing.sort(request.POST.get("sort", ""))
    params |= {"sort": "" if sort == listing.usual else sort}
    if rows is None:
        messages.error(request, _("Choose one of these numbers of rows: %(sizes)s.") % {"sizes": _sizes(listing.sizes)})
        return _redirect_to(page, params)
    try:
        columns = set(request.POST.getlist("columns"))
        preferences.save_columns(page=page, rows=rows, offered=offered, visible=columns, by=by)
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        params |= {"rows": str(rows)}
    return _redirect_to(page, params)


@require_POST
def keep_view(request: HttpRequest, page: str, lists: Lists) -> HttpResponse:
    """Save the filters of a list as a view; only the URL parameters that the list knows are stored."""
    by = principal_of(request)
    savable = _get_list(page, lists, by)
    if savable.filters is None:
        raise Http404
    query = canonical(savable.listing, QueryDict(request.POST.get("query", "")), savable.filters(by))
    form = ViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Give the view a name of at most 60 characters, and choose who sees it."))
    else:
        try:
            saved_views.save(page=page, query=query, by=by, at=timezone.now(), **form.cleaned_data)
        except DomainError as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, _("The view is saved."))
    return redirect(f"{reverse(page)}?{query}")


@require_http_methods(["GET", "HEAD", "POST"])
def view(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Rename one of the user's own views, or change with whom it is shared."""
    by = principal_of(request)
    saved_view = _get_own_view(view_id, by)
    form = ViewForm(request.POST or None, initial={"name": saved_view.name, "shared_with": saved_view.shared_with})
    if request.method == "POST" and form.is_valid():
        try:
            saved_views.change(view_id=view_id, by=by, **form.cleaned_data)
        except DomainError as refusal:
            add_errors(form, refusal, {"name": "name"})
        else:
            messages.success(request, _("The view is saved."))
            return redirect(f"{reverse(saved_view.page)}?{saved_view.query}")
    context = {"form": form, "view": saved_view}
    return render(request, "accounts/saved_view.html", context, status=UNPROCESSABLE if form.errors else 200)


@require_POST
def remove_view(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Delete one of the user's own views."""
    by = principal_of(request)
    saved_view = _get_own_view(view_id, by)
    saved_views.remove(view_id=view_id, by=by)
    messages.success(request, _("The view is removed."))
    return redirect(saved_view.page)


def _get_own_view(view_id: UUID, by: Principal) -> SavedView:
    saved_view = queries.own_view(view_id, by=by)
    if saved_view is None:
        raise Http404
    return saved_view


def _get_list(page: str, lists: Lists, by: Principal) -> SavableList:
    """Return a list that the user may see.

    Raises:
        Http404: there is no such list.
        RightMissing: the user has none of its scopes.
    """
    if page not in lists:
        raise Http404
    if not any(by.has_scope(scope) for scope in lists[page].scopes):
        raise RightMissing(lists[page].scopes)
    return lists[page]


def _redirect_to(page: str, params: Mapping[str, str]) -> HttpResponse:
    query = spelled(params)
    return redirect(f"{reverse(page)}?{query}" if query else reverse(page))


def _sizes(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes))
