"""A webhook receiver on this machine for developers: verifies and prints each event."""

import contextlib
import signal
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from standardwebhooks.webhooks import WebhookVerificationError

from apps.webhooks.rules.payloads import MAX_BYTES
from apps.webhooks.services import endpoints
from apps.webhooks.services.endpoint_validation import EndpointParams, EndpointUrlBlocked
from apps.webhooks.services.endpoints import RegisteredEndpoint
from lib.access import system
from lib.errors import InvalidInput, NotFound
from lib.standard_webhooks import hmac_of, new_secret

HINT_AFTER: Final = 15.0  # seconds without an event: a worker takes one or two
FORBIDDEN: Final = (
    "Webhooks may not go to this machine: that takes WEBHOOK_PLAIN_HTTP=true and WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8,"
    " as demo mode has them."
)
_STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY: Final = system("webhook_listen")


class Command(BaseCommand):
    """Register an endpoint for this process, print its events, and remove the endpoint at the end."""

    help = "Receive this service's webhooks here: print every event as it arrives, until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=0, help="where to listen on 127.0.0.1; a free one by default")
        parser.add_argument("--types", default="*", help='comma-separated, such as "ride.*,driver.*"; all by default')

    def handle(self, *, port: int, types: str, **options: Any) -> None:
        try:
            receiver = _Receiver(port, self)
        except (OSError, OverflowError):
            raise CommandError(f"Port {port} cannot be listened on; choose another one with --port.") from None
        with receiver:
            registered = _register(receiver, types)
            for number in _STOPS:
                signal.signal(number, _stop)
            try:
                self.stdout.write(f"Listening on {receiver.url} for {types}; Ctrl-C ends it.")
                receiver.serve_forever()
            except KeyboardInterrupt:
                _remove(registered)
                self.stdout.write("Removed the endpoint.")


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # A second signal must not interrupt the removal.
    for signal_number in _STOPS:
        signal.signal(signal_number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _register(receiver: "_Receiver", types: str) -> RegisteredEndpoint:
    name = f"webhook_listen on port {receiver.server_port}"
    event_types = [event_type.strip() for event_type in types.split(",")]
    params = EndpointParams(name=name, url=receiver.url, event_types=event_types)
    try:
        return endpoints.register(params=params, secret=receiver.secret, by=_BY, at=timezone.now())
    except EndpointUrlBlocked:
        raise CommandError(FORBIDDEN) from None
    except InvalidInput as refusal:
        raise CommandError(f"--types: {refusal.message}") from None


def _remove(registered: RegisteredEndpoint) -> None:
    with contextlib.suppress(NotFound):  # already removed
        endpoints.remove(endpoint_id=registered.endpoint.pk, by=_BY, at=timezone.now())


class _Receiver(ThreadingHTTPServer):
    """Listens from the start; answers in `serve_forever`."""

    def __init__(self, port: int, command: BaseCommand) -> None:
        self.secret = new_secret()
        self.verifier = hmac_of(self.secret)
        self.write = command.stdout.write
        self._hint_at: float | None = time.monotonic() + HINT_AFTER
        super().__init__(("127.0.0.1", port), _Request)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def arrived(self) -> None:
        self._hint_at = None

    def service_actions(self) -> None:
        """Print a hint, once, if nothing arrives."""
        if self._hint_at is not None and time.monotonic() > self._hint_at:
            self._hint_at = None
            self.write("Nothing has arrived yet. Is a worker running? `make run` has one.")


class _Request(BaseHTTPRequestHandler):
    server: _Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Verify, print, answer."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(min(int(headers.get("content-length", "0")), MAX_BYTES))
        self.server.arrived()
        try:
            event = self.server.verifier.verify(body, headers)
        except (WebhookVerificationError, ValueError):  # the library leaves malformed base64 and UTF-8 to the caller
            self.server.write("Refused a request without a valid signature.")
            self._answer(401)
        else:
            attempt = headers["webhook-attempt"]
            subject = "{type} {id} sequence {sequence}".format(**event["subject"])
            self.server.write(f"{event['timestamp']}  {event['type']}  {subject}  attempt {attempt}")
            self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests: only events are printed."""
