"""URLs below /console/board/."""

from django.urls import path

from apps.console.board import (
    absence_views,
    accepting_views,
    acting_views,
    board_views,
    counters,
    map_tiles,
    run_sheet,
    run_views,
    running_late_views,
    selection_views,
    suggestion_views,
    vehicle_down_views,
)

urlpatterns = [
    path("", board_views.show, name="board"),
    path("changes/", board_views.changes, name="board_changes"),
    path("counters/", counters.today, name="board_counters"),
    path("selection/", selection_views.act, name="board_selection"),
    path("suggestions/", suggestion_views.suggestions, name="board_suggestions"),
    path("suggestions/accept/", accepting_views.accept, name="accept_suggestions"),
    path("suggestions/undo/", accepting_views.undo, name="undo_suggestions"),
    path("batch/", accepting_views.batch, name="board_batch"),
    path("map.pmtiles", map_tiles.map_tiles, name="map_tiles"),
    path("rides/<uuid:ride_id>/", acting_views.show_ride, name="board_ride"),
    path("rides/<uuid:ride_id>/hand-over/", acting_views.hand_over, name="hand_over_ride"),
    path("rides/<uuid:ride_id>/assign/", acting_views.assign, name="assign_ride"),
    path("rides/<uuid:ride_id>/unassign/", acting_views.unassign, name="board_unassign"),
    path("rides/<uuid:ride_id>/call/", acting_views.log_call, name="board_call"),
    path("rides/<uuid:ride_id>/alerts/<uuid:exception_id>/", acting_views.write_note, name="board_alert_note"),
    path("rides/<uuid:ride_id>/link/", acting_views.link, name="board_link"),
    path("rides/<uuid:ride_id>/ready/", acting_views.ready, name="board_ready"),
    path("drivers/<uuid:driver_id>/", run_views.run, name="board_run"),
    path("drivers/<uuid:driver_id>/run-sheet.pdf", run_sheet.run_sheet, name="run_sheet"),
    path("drivers/<uuid:driver_id>/out/", absence_views.report, name="driver_out"),
    path("drivers/<uuid:driver_id>/out/<uuid:absence_id>/", absence_views.absence, name="driver_absence"),
    path("drivers/<uuid:driver_id>/out/<uuid:absence_id>/undo/", absence_views.undo, name="undo_absence"),
    path("vehicles/<uuid:vehicle_id>/down/", vehicle_down_views.report, name="vehicle_down"),
    path("vehicles/<uuid:vehicle_id>/down/<uuid:outage_id>/undo/", vehicle_down_views.undo, name="undo_outage"),
    path("drivers/<uuid:driver_id>/late/", running_late_views.running_late, name="running_late"),
    path("drivers/<uuid:driver_id>/break/", run_views.pause, name="board_break"),
]
