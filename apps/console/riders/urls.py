"""URLs below /console/riders/: the page of a rider, its forms, and a hospital stay."""

from django.urls import path

from apps.console.riders import edit_views, rider_views, stay_views

urlpatterns = [
    path("<uuid:rider_id>/", rider_views.rider, name="rider_page"),
    path("<uuid:rider_id>/edit/", edit_views.edit, name="rider_edit"),
    path("<uuid:rider_id>/needs/", edit_views.needs, name="rider_needs"),
    path("<uuid:rider_id>/stay/", stay_views.stay, name="rider_stay"),
]
