"""URLs below /console/book/: the booking form."""

from django.urls import path

from apps.console.booking import draft_views, sheet_views, views

urlpatterns = [
    path("", views.book, name="book_ride"),
    path("riders/", views.riders, name="book_riders"),
    path("batch/", sheet_views.book_sheet, name="book_sheet"),
    path("drafts/", draft_views.book_drafts, name="book_drafts"),
    path("drafts/keep/", draft_views.keep_draft, name="keep_draft"),
    path("drafts/<uuid:draft_id>/discard/", draft_views.discard_draft, name="discard_draft"),
    path("check/", views.check, name="check_booking"),
]
