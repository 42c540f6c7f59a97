"""Addresses below /console/book/: the booking desk."""

from django.urls import path

from apps.rides.console import booking_draft_views, booking_sheet_views, booking_views

urlpatterns = [
    path("", booking_views.book, name="book_ride"),
    path("riders/", booking_views.riders, name="book_riders"),
    path("batch/", booking_sheet_views.book_sheet, name="book_sheet"),
    path("drafts/", booking_draft_views.book_drafts, name="book_drafts"),
    path("drafts/keep/", booking_draft_views.keep_draft, name="keep_draft"),
    path("drafts/<uuid:draft_id>/discard/", booking_draft_views.discard_draft, name="discard_draft"),
    path("check/", booking_views.check, name="check_booking"),
]
