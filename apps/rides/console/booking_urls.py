"""Addresses below /console/book/: the booking desk."""

from django.urls import path

from apps.rides.console import booking_sheet_views, booking_views

urlpatterns = [
    path("", booking_views.book, name="book_ride"),
    path("riders/", booking_views.riders, name="book_riders"),
    path("batch/", booking_sheet_views.book_sheet, name="book_sheet"),
    path("check/", booking_views.check, name="check_booking"),
]
