"""Roles of people and tokens, and the scopes, data scope and PHI level of each."""

from typing import Final

from lib.access import Phi
from lib.choices import TextChoices
from lib.messages import gettext_lazy as _
from lib.scopes import Scope


class UserRole(TextChoices):
    """The role of a person.  Planners are limited to their own facilities, and fleet admins to their own providers."""

    ADMIN = "admin", _("Admin")
    DISPATCH_SUPERVISOR = "dispatch_supervisor", _("dispatch supervisor")
    DISPATCHER = "dispatcher", _("Dispatcher")
    PLANNER = "planner", _("discharge planner")
    FLEET_ADMIN = "fleet_admin", _("fleet admin")
    ANALYST = "analyst", _("Analyst")
    AUDITOR = "auditor", _("Auditor")


class TokenRole(TextChoices):
    """The role of an API token."""

    EHR_INTEGRATOR = "ehr-integrator", _("EHR integrator")
    DISPATCH_PARTNER = "dispatch-partner", _("dispatch partner")
    DISPATCH_CONSOLE = "dispatch-console", _("dispatch system")
    BILLING_READONLY = "billing-readonly", _("billing, read only")
    ANALYTICS_READONLY = "analytics-readonly", _("analytics, read only")
    WEBHOOK_ADMIN = "webhook-admin", _("webhook admin")
    AUDITOR = "auditor", _("Auditor")
    MONITORING = "monitoring", _("Monitoring")
    FULL_ACCESS = "full-access", _("full access")


_S = Scope
_OPERATE = {
    _S.RIDES_READ,
    _S.RIDES_WRITE,
    _S.RIDES_STATUS,
    _S.ASSIGNMENTS_WRITE,
    _S.EXCEPTIONS_READ,
    _S.EXCEPTIONS_WRITE,
    _S.RIDERS_READ,
    _S.RIDERS_WRITE,
    _S.SCHEDULES_WRITE,
    _S.DRIVERS_READ,
    _S.FACILITIES_READ,
    _S.EVENTS_READ,
    _S.RIDES_OVERRIDE,
    _S.REPORTS_READ,
}

SCOPES_OF_USER: Final[dict[UserRole, frozenset[str]]] = {
    # Admins run the service but see no rider data.
    UserRole.ADMIN: frozenset(
        {
            _S.FACILITIES_READ,
            _S.FACILITIES_WRITE,
            _S.DRIVERS_READ,
            _S.DRIVERS_WRITE,
            _S.TOKENS_MANAGE,
            _S.WEBHOOKS_MANAGE,
            _S.DESTINATIONS_MANAGE,
            _S.USERS_MANAGE,
            _S.AUDIT_READ,
        }
    ),
    UserRole.DISPATCH_SUPERVISOR: frozenset(
        {*_OPERATE, _S.RIDES_CORRECT, _S.DRIVERS_WRITE, _S.EXPORTS_CREATE, _S.EXPORTS_PHI}
    ),
    UserRole.DISPATCHER: frozenset(_OPERATE),
    UserRole.PLANNER: frozenset(
        {
            _S.RIDES_READ,
            _S.RIDES_WRITE,
            _S.EXCEPTIONS_READ,
            _S.EXCEPTIONS_WRITE,
            _S.RIDERS_READ,
            _S.RIDERS_WRITE,
            _S.SCHEDULES_WRITE,
            _S.FACILITIES_READ,
            _S.REPORTS_READ,
        }
    ),
    UserRole.FLEET_ADMIN: frozenset(
        {_S.RIDES_READ, _S.DRIVERS_READ, _S.DRIVERS_WRITE, _S.FACILITIES_READ, _S.REPORTS_READ}
    ),
    UserRole.ANALYST: frozenset({_S.RIDES_READ, _S.FACILITIES_READ, _S.REPORTS_READ, _S.EXPORTS_CREATE}),
    UserRole.AUDITOR: frozenset(
        {
            _S.RIDES_READ,
            _S.EXCEPTIONS_READ,
            _S.DRIVERS_READ,
            _S.FACILITIES_READ,
            _S.EVENTS_READ,
            _S.AUDIT_READ,
            _S.REPORTS_READ,
        }
    ),
}

PHI_OF_USER: Final[dict[UserRole, Phi]] = {
    UserRole.ADMIN: Phi.NONE,
    UserRole.DISPATCH_SUPERVISOR: Phi.FULL,
    UserRole.DISPATCHER: Phi.FULL,
    UserRole.PLANNER: Phi.FULL,
    UserRole.FLEET_ADMIN: Phi.NONE,
    UserRole.ANALYST: Phi.NONE,
    UserRole.AUDITOR: Phi.LIMITED,
}

# Roles whose data scope is their memberships; the data scope of other roles is unlimited.
SCOPED_BY_FACILITY: Final = frozenset({UserRole.PLANNER})
SCOPED_BY_PROVIDER: Final = frozenset({UserRole.FLEET_ADMIN})

SCOPES_OF_TOKEN: Final[dict[TokenRole, frozenset[str]]] = {
    TokenRole.EHR_INTEGRATOR: frozenset(
        {
            _S.RIDES_READ,
            _S.RIDES_WRITE,
            _S.RIDERS_READ,
            _S.RIDERS_WRITE,
            _S.SCHEDULES_WRITE,
            _S.FACILITIES_READ,
            _S.EXCEPTIONS_READ,
            _S.EVENTS_READ,
        }
    ),
    TokenRole.DISPATCH_PARTNER: frozenset(
        {
            _S.RIDES_READ,
            _S.RIDES_STATUS,
            _S.ASSIGNMENTS_WRITE,
            _S.DRIVERS_READ,
            _S.DRIVERS_LOCATE,
            _S.FACILITIES_READ,
            _S.EVENTS_READ,
        }
    ),
    TokenRole.DISPATCH_CONSOLE: frozenset({*_OPERATE, _S.RIDES_CORRECT, _S.DRIVERS_WRITE, _S.DRIVERS_LOCATE}),
    TokenRole.BILLING_READONLY: frozenset({_S.RIDES_READ, _S.REPORTS_READ, _S.EXPORTS_CREATE, _S.EXPORTS_PHI}),
    TokenRole.ANALYTICS_READONLY: frozenset({_S.REPORTS_READ, _S.EXPORTS_CREATE}),
    TokenRole.WEBHOOK_ADMIN: frozenset({_S.WEBHOOKS_MANAGE, _S.EVENTS_READ}),
    TokenRole.AUDITOR: frozenset({_S.RIDES_READ, _S.EVENTS_READ, _S.AUDIT_READ}),
    TokenRole.MONITORING: frozenset({_S.METRICS_READ}),
    TokenRole.FULL_ACCESS: frozenset(set(Scope) - {_S.USERS_MANAGE}),
}

# The highest PHI level that a token of the role may have.
PHI_LIMIT_OF_TOKEN: Final[dict[TokenRole, Phi]] = {
    TokenRole.EHR_INTEGRATOR: Phi.FULL,
    TokenRole.DISPATCH_PARTNER: Phi.FULL,
    TokenRole.DISPATCH_CONSOLE: Phi.FULL,
    TokenRole.BILLING_READONLY: Phi.LIMITED,
    TokenRole.ANALYTICS_READONLY: Phi.NONE,
    TokenRole.WEBHOOK_ADMIN: Phi.NONE,
    TokenRole.AUDITOR: Phi.LIMITED,
    TokenRole.MONITORING: Phi.NONE,
    TokenRole.FULL_ACCESS: Phi.FULL,
}
