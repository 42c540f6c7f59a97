"""Registry of the lists with saved preferences and views, and the URLs for them."""

from collections.abc import Mapping
from typing import Final

from django.urls import path

from apps.console.board import page as board
from apps.console.exceptions import forms as exceptions
from apps.console.exceptions import views as exception_views
from apps.console.fleet import board_views as fleet_views
from apps.console.fleet import forms as fleet
from apps.console.kit.lists import SavableList
from apps.console.recurring import list_views as orders
from apps.console.reports import overview_views as reports
from apps.console.shell import list_views
from apps.console.webhooks import delivery_views
from lib.scopes import Scope

LISTS: Final[Mapping[str, SavableList]] = {
    savable.listing.page: savable
    for savable in (
        SavableList(board.LIST, frozenset({Scope.ASSIGNMENTS_WRITE})),
        SavableList(exceptions.QUEUE, frozenset({Scope.EXCEPTIONS_READ}), exception_views.queue_filters),
        SavableList(exceptions.HISTORY, frozenset({Scope.EXCEPTIONS_READ}), exception_views.history_filters),
        SavableList(fleet.CREDENTIALS, frozenset({Scope.DRIVERS_READ}), fleet_views.credential_filters),
        SavableList(fleet.DRIVERS, frozenset({Scope.DRIVERS_READ}), fleet_views.driver_filters),
        SavableList(delivery_views.LIST, frozenset({Scope.WEBHOOKS_MANAGE}), delivery_views.filters),
        SavableList(reports.LIST, frozenset({Scope.REPORTS_READ}), reports.view_filters),
        SavableList(orders.LIST, frozenset({Scope.RIDES_READ}), orders.filters),
    )
}

urlpatterns = [
    path("<slug:page>/look/", list_views.arrange, {"lists": LISTS}, name="arrange_list"),
    path("<slug:page>/views/", list_views.keep_view, {"lists": LISTS}, name="keep_view"),
    path("views/<uuid:view_id>/", list_views.view, name="saved_view"),
    path("views/<uuid:view_id>/remove/", list_views.remove_view, name="remove_saved_view"),
]
