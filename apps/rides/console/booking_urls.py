"""Addresses below /console/book/: the booking desk."""

from django.urls import path

from apps.rides.console import booking_views

urlpatterns = [
    path("", booking_views.book, name="book_ride"),
    path("riders/", booking_views.riders, name="book_riders"),
    path("check/", booking_views.check, name="check_booking"),
]
