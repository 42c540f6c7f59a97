"""The error codes of the API with their HTTP status, and the base classes of errors.

The exception handler, the OpenAPI document, docs/errors.md and the tests use this registry.
"""

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from lib.messages import FieldName, Message, Template, any_of


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """The meaning of a code: its HTTP status, whether the same request may be sent again, and when it occurs."""

    status: int
    retryable: bool
    when: str


class Code(Enum):
    """Codes of `error.code`.  Stable: clients build on them; a new meaning is a new code."""

    VALIDATION_ERROR = ErrorKind(
        400, False, "A field or parameter is missing, unknown or of the wrong form; details name it."
    )
    MALFORMED_REQUEST = ErrorKind(
        400, False, "The body is not JSON, not UTF-8, nested too deeply, or holds a NUL byte."
    )
    INVALID_CURSOR = ErrorKind(
        400, False, "The cursor was altered, or filters or permissions changed since it was issued."
    )
    UNSUPPORTED_API_VERSION = ErrorKind(400, False, "The API-Version header names no known version.")
    TOKEN_IN_QUERY = ErrorKind(
        400, False, "The query string contains a token; this has been recorded, rotate the token."
    )
    UNAUTHENTICATED = ErrorKind(401, False, "There is no bearer token, or it is unknown.")
    TOKEN_EXPIRED = ErrorKind(401, False, "The token has expired.")
    TOKEN_REVOKED = ErrorKind(401, False, "The token has been revoked.")
    INSUFFICIENT_SCOPE = ErrorKind(403, False, "The token lacks the scope; details[0].requiredScope names it.")
    IP_NOT_ALLOWED = ErrorKind(403, False, "The client address is outside the token's allow-list.")
    PHI_NOT_PERMITTED = ErrorKind(403, False, "The token's PHI level does not permit the field or operation.")
    FORBIDDEN = ErrorKind(403, False, "The caller's role does not permit this.")
    NOT_FOUND = ErrorKind(404, False, "There is no such resource within the caller's data scope.")
    METHOD_NOT_ALLOWED = ErrorKind(
        405, False, "The resource does not support the method; the Allow header lists its methods."
    )
    NOT_ACCEPTABLE = ErrorKind(406, False, "The Accept header allows no format of this resource.")
    INVALID_TRANSITION = ErrorKind(
        409, False, "The ride's status does not allow this; details carry from, to and allowed."
    )
    TRANSITION_GUARD_FAILED = ErrorKind(409, False, "Conditions of the transition are not met; details list them.")
    MILESTONE_OUT_OF_ORDER = ErrorKind(
        409, False, "occurredAt is before the ride or the previous milestone, or in the future."
    )
    DUPLICATE_RESOURCE = ErrorKind(409, False, "A record with this external reference exists; details name existingId.")
    DUPLICATE_RIDE = ErrorKind(409, False, "The rider has a ride at this time; send allowDuplicate to book it anyway.")
    ASSIGNMENT_REJECTED = ErrorKind(409, False, "Checks refuse this driver and vehicle; details list the violations.")
    ASSIGNMENT_CONFLICT = ErrorKind(409, False, "The driver or vehicle has another ride in that period.")
    CREDENTIALS_MISSING = ErrorKind(
        409, False, "The driver lacks credentials that activation requires; details list them."
    )
    RIDER_NOT_BOOKABLE = ErrorKind(409, False, "The rider's record does not allow bookings.")
    LOCKED_BY_EXPORT = ErrorKind(409, False, "The ride is part of a locked export and can no longer be corrected.")
    RESOURCE_BUSY = ErrorKind(409, True, "Another request is changing the record; try again.")
    IDEMPOTENCY_IN_PROGRESS = ErrorKind(409, True, "A request with this Idempotency-Key is in progress.")
    GONE = ErrorKind(410, False, "The resource was purged, or the API version has ended.")
    PRECONDITION_FAILED = ErrorKind(412, False, "If-Match names an older version; read the record again.")
    PAYLOAD_TOO_LARGE = ErrorKind(413, False, "The body or the response exceeds the limit.")
    UNSUPPORTED_MEDIA_TYPE = ErrorKind(415, False, "The body is not application/json.")
    PICKUP_IN_PAST = ErrorKind(422, False, "The pickup time is more than 15 minutes ago; details name the field.")
    RULE_VIOLATION = ErrorKind(422, False, "The request is well formed but breaks a business rule.")
    ENDPOINT_URL_BLOCKED = ErrorKind(422, False, "Requests to this address are not allowed; details say why.")
    IDEMPOTENCY_KEY_REUSED = ErrorKind(422, False, "The Idempotency-Key was used with another body.")
    PRECONDITION_REQUIRED = ErrorKind(428, False, "This deployment requires If-Match on changes.")
    RATE_LIMITED = ErrorKind(429, True, "Too many requests; Retry-After says when to try again.")
    INTERNAL_ERROR = ErrorKind(500, True, "The service failed; safe to repeat with an Idempotency-Key.")
    SERVICE_UNAVAILABLE = ErrorKind(503, True, "The service or its database is not available; Retry-After says when.")
    TIMEOUT = ErrorKind(504, True, "The request took longer than the service allows.")

    @property
    def status(self) -> int:
        return self.value.status

    @property
    def retryable(self) -> bool:
        return self.value.retryable


@dataclass(frozen=True, slots=True)
class Detail:
    """One entry of `error.details`.

    `field` is a dotted path in the caller's spelling (`pickup.contact.phone`, `rides[2].pickupTime`); `also` adds keys
    of the code, such as `requiredScope`.  Messages never repeat a value that was sent: it may be personal data.
    `%(field)s` in the template of a message is the name of the field.
    """

    code: str
    message: Template
    field: str | None = None
    also: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def text(self) -> Message:
        message = self.message if isinstance(self.message, Message) else Message(self.message)
        named = {"field": FieldName(self.field)} if self.field is not None else {}
        return Message(message.template, {**named, **message.parameters})

    def as_json(self) -> dict[str, Any]:
        named = {"field": self.field} if self.field is not None else {}
        return {**named, "code": self.code, "message": str(self.text), **self.also}


class DomainError(Exception):
    """An error that a caller can understand and act on.

    Subclasses are named for the condition, set `code` and `template`, and are defined in the module of the function
    that raises them.  If the text depends on the case, another template, or a finished `Message`, is passed when it is
    raised.  `message` is the text in the language that is active when it is read.
    """

    code: ClassVar[Code] = Code.RULE_VIOLATION
    template: ClassVar[Template] = _("This is not possible.")

    def __init__(
        self, template: Template | None = None, /, *, details: list[Detail] | None = None, **parameters: object
    ) -> None:
        super().__init__(template)
        self.text = _message(template or self.template, parameters)
        self.details = details or []

    @property
    def message(self) -> str:
        return str(self.text)

    def __str__(self) -> str:
        return self.message


def _message(template: Template, parameters: dict[str, object]) -> Template:
    return Message(template, parameters) if parameters and isinstance(template, Promise) else template


class InvalidInput(DomainError):
    """A value that is invalid for reasons beyond the shape of the request, such as other data.  Names the field.

    `%(field)s` in the template is the name of the field.
    """

    code = Code.VALIDATION_ERROR

    def __init__(
        self, field_name: str, template: Template, /, *, detail_code: str = "invalid", **parameters: object
    ) -> None:
        detail = Detail(field=field_name, code=detail_code, message=_message(template, parameters))
        super().__init__(detail.text, details=[detail])


class NotFound(DomainError):
    """The record does not exist or is outside the caller's data scope; callers cannot distinguish the two."""

    code = Code.NOT_FOUND
    template = _("There is no such %(record)s.")

    def __init__(self, record: Template | None = None) -> None:
        super().__init__(record=record or _("resource"))


class StaleVersion(DomainError):
    """The caller's version of the record is outdated."""

    code = Code.PRECONDITION_FAILED
    template = _("The record has changed since it was read.")

    def __init__(self, current_version: int) -> None:
        detail = Detail(code="stale", message=_("Read the record again."), also={"currentVersion": current_version})
        super().__init__(details=[detail])
        self.current_version = current_version


class ScopeMissing(DomainError):
    """The caller may see the record but lacks the scope for the operation."""

    code = Code.INSUFFICIENT_SCOPE
    template = _("This needs the scope %(scope)s.")

    def __init__(self, *scopes: str) -> None:
        needed = any_of(scopes)
        detail = Detail(
            code="missing_scope",
            message=Message(_("Needs %(scope)s."), {"scope": needed}),
            also={"requiredScope": scopes[0]},
        )
        super().__init__(details=[detail], scope=needed)


class FieldRefused(DomainError):
    """Several values are invalid.  For rules that concern more than the shape of one field."""

    code = Code.VALIDATION_ERROR

    def __init__(self, details: list[Detail]) -> None:
        super().__init__(details[0].text, details=details)
