"""URLs below /console/recurring/: standing orders and calendar shifts."""

from django.urls import path

from apps.console.recurring import (
    action_views,
    editor_views,
    link_views,
    list_views,
    order_views,
    sheet_views,
    shift_views,
)

urlpatterns = [
    path("", list_views.orders, name="standing_orders"),
    path("add/", editor_views.add, name="add_standing_order"),
    path("<uuid:order_id>/", order_views.order, name="standing_order"),
    path("<uuid:order_id>/change/", editor_views.change, name="change_standing_order"),
    path("<uuid:order_id>/move/", action_views.move, name="move_occurrence"),
    path("<uuid:order_id>/skip/", action_views.skip, name="skip_occurrence"),
    path("<uuid:order_id>/restore/", action_views.restore, name="restore_occurrence"),
    path("<uuid:order_id>/hold/", action_views.hold, name="hold_standing_order"),
    path("<uuid:order_id>/resume/", action_views.resume, name="resume_standing_order"),
    path("<uuid:order_id>/end/", action_views.end, name="end_standing_order"),
    path("<uuid:order_id>/activate/", action_views.activate, name="activate_standing_order"),
    path("facilities/<uuid:facility_id>/", shift_views.facility, name="facility_calendar"),
    path("facilities/<uuid:facility_id>/day/", sheet_views.day, name="day_sheet"),
    path("facilities/<uuid:facility_id>/enter/", shift_views.enter, name="enter_calendar_shift"),
    path("<uuid:order_id>/links/", link_views.order_links, name="order_calendar_links"),
    path("facilities/<uuid:facility_id>/links/", link_views.links, name="calendar_links"),
    path("links/<uuid:link_id>/revoke/", link_views.revoke, name="revoke_calendar_link"),
    path("shifts/<uuid:shift_id>/", shift_views.shift, name="calendar_shift"),
    path("shifts/<uuid:shift_id>/apply/", shift_views.apply, name="apply_calendar_shift"),
    path("shifts/<uuid:shift_id>/undo/", shift_views.undo, name="undo_calendar_shift"),
]
