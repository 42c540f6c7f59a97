"""The lists of the console of which people keep how they like to see them and views, and the addresses of that."""

from collections.abc import Mapping
from typing import Final

from django.urls import path

from apps.accounts.console import list_views
from apps.accounts.console.lists import Kept
from apps.dispatch.console import fleet_board_views, fleet_forms
from apps.dispatch.console import page as board
from apps.recurring.console import list_views as orders
from apps.reporting.console import overview_views as reports
from apps.rides.console import desk_forms, desk_views
from apps.webhooks.console import delivery_views
from lib.scopes import Scope

LISTS: Final[Mapping[str, Kept]] = {
    one.listing.page: one
    for one in (
        Kept(board.LIST, frozenset({Scope.ASSIGNMENTS_WRITE})),
        Kept(desk_forms.QUEUE, frozenset({Scope.EXCEPTIONS_READ}), desk_views.queue_filters),
        Kept(desk_forms.HISTORY, frozenset({Scope.EXCEPTIONS_READ}), desk_views.history_filters),
        Kept(fleet_forms.PAPERS, frozenset({Scope.DRIVERS_READ}), fleet_board_views.paper_filters),
        Kept(fleet_forms.DRIVERS, frozenset({Scope.DRIVERS_READ}), fleet_board_views.driver_filters),
        Kept(delivery_views.LIST, frozenset({Scope.WEBHOOKS_MANAGE}), delivery_views.filters),
        Kept(reports.LIST, frozenset({Scope.REPORTS_READ}), reports.view_filters),
        Kept(orders.LIST, frozenset({Scope.RIDES_READ}), orders.filters),
    )
}

urlpatterns = [
    path("<slug:page>/look/", list_views.arrange, {"lists": LISTS}, name="arrange_list"),
    path("<slug:page>/views/", list_views.keep_view, {"lists": LISTS}, name="keep_view"),
    path("views/<uuid:view_id>/", list_views.view, name="saved_view"),
    path("views/<uuid:view_id>/remove/", list_views.remove_view, name="remove_saved_view"),
]
