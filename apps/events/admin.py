"""The spine, to look at."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from apps.events.models import Event
from lib.admin import ScopedAdmin


@admin.register(Event)
class EventAdmin(ScopedAdmin[Event]):
    read_only = True
    subject_type = "event"
    list_display = ("recorded_at", "type", "subject_type", "subject_id", "sequence", "actor", "facility")
    list_display_links = ("recorded_at", "type")
    list_filter = ("subject_type",)
    list_select_related = ("facility",)
    ordering = ("-id",)
    search_fields = ("subject_id__exact", "type")
    search_placeholder = _("Id of the record, or type")
    fields = (
        "type",
        ("subject_type", "subject_id", "sequence"),
        ("facility", "provider"),
        ("occurred_at", "recorded_at"),
        ("actor", "request_id"),
        "data",
    )
