"""Scopes: the rights that code checks, granted to API tokens and to roles of people."""

from django.db.models import TextChoices


class Scope(TextChoices):
    RIDES_READ = "rides:read"
    RIDES_WRITE = "rides:write"
    RIDES_STATUS = "rides:status"
    RIDES_OVERRIDE = "rides:override"  # override rules that can be overridden, with a reason
    RIDES_CORRECT = "rides:correct"  # reopen rides that have ended
    ASSIGNMENTS_WRITE = "assignments:write"
    EXCEPTIONS_READ = "exceptions:read"
    EXCEPTIONS_WRITE = "exceptions:write"
    RIDERS_READ = "riders:read"
    RIDERS_WRITE = "riders:write"
    SCHEDULES_WRITE = "schedules:write"
    DRIVERS_READ = "drivers:read"
    DRIVERS_WRITE = "drivers:write"
    DRIVERS_LOCATE = "drivers:locate"  # report positions
    FACILITIES_READ = "facilities:read"
    FACILITIES_WRITE = "facilities:write"
    REPORTS_READ = "reports:read"
    EXPORTS_CREATE = "exports:create"
    EXPORTS_PHI = "exports:phi"  # with names of riders, as far as the PHI level permits
    DESTINATIONS_MANAGE = "destinations:manage"  # external destinations of exports
    EVENTS_READ = "events:read"
    WEBHOOKS_MANAGE = "webhooks:manage"
    TOKENS_MANAGE = "tokens:manage"
    AUDIT_READ = "audit:read"
    METRICS_READ = "metrics:read"
    USERS_MANAGE = "users:manage"
