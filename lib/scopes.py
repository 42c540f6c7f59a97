"""What code checks: the words of the API's tokens and of people's roles."""

from django.db.models import TextChoices


class Scope(TextChoices):
    RIDES_READ = "rides:read"
    RIDES_WRITE = "rides:write"
    RIDES_STATUS = "rides:status"
    RIDES_OVERRIDE = "rides:override"  # soft guards, with a reason
    RIDES_CORRECT = "rides:correct"  # re-open what has ended
    ASSIGNMENTS_WRITE = "assignments:write"
    EXCEPTIONS_READ = "exceptions:read"
    EXCEPTIONS_WRITE = "exceptions:write"
    RIDERS_READ = "riders:read"
    RIDERS_WRITE = "riders:write"
    SCHEDULES_WRITE = "schedules:write"
    DRIVERS_READ = "drivers:read"
    DRIVERS_WRITE = "drivers:write"
    FACILITIES_READ = "facilities:read"
    FACILITIES_WRITE = "facilities:write"
    REPORTS_READ = "reports:read"
    EXPORTS_CREATE = "exports:create"
    EXPORTS_PHI = "exports:phi"  # with riders named, as far as the PHI level reaches
    DESTINATIONS_MANAGE = "destinations:manage"  # where exports are put outside
    EVENTS_READ = "events:read"
    WEBHOOKS_MANAGE = "webhooks:manage"
    TOKENS_MANAGE = "tokens:manage"
    AUDIT_READ = "audit:read"
    METRICS_READ = "metrics:read"
    USERS_MANAGE = "users:manage"
