"""Exports: sent at once, or made by a worker and fetched once."""

from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.exports.api import export_serializers as shapes
from apps.exports.formats.files import CONTENT_TYPES
from apps.exports.models import Export
from apps.exports.queries.datasets import DATASETS
from apps.exports.services import downloads, exports
from lib.access import PUBLIC
from lib.api.fields import instant_text
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.client_address import address_of
from lib.errors import Code, NotFound
from lib.request_context import answer_headers, id_of
from lib.scopes import Scope
from lib.streaming import stream_response

_WISHES: Final = (Code.PHI_NOT_PERMITTED, Code.INSUFFICIENT_SCOPE, Code.RATE_LIMITED)


class ExportViewSet(ApiViewSet):
    """Exports."""

    scopes = dict.fromkeys(
        ("list", "create", "retrieve", "cancel", "content", "datasets", "at_once"), Scope.EXPORTS_CREATE
    ) | {"link": PUBLIC, "unlock": Scope.RIDES_CORRECT}
    queries = {"list": shapes.ExportListQuery, "at_once": shapes.ExportNowQuery}
    bodies = {"create": shapes.ExportIn}
    answers = {
        "list": shapes.ExportOut,
        "create": shapes.ExportOut,
        "retrieve": shapes.ExportOut,
        "cancel": shapes.ExportOut,
        "unlock": shapes.ExportOut,
        "content": shapes.ExportLinkOut,
        "datasets": shapes.DatasetsOut,
    }
    files = dict.fromkeys(("at_once", "link"), tuple(CONTENT_TYPES.values()))
    statuses = {"create": 202}
    refusals = {
        "create": _WISHES,
        "at_once": (*_WISHES, Code.PAYLOAD_TOO_LARGE, Code.NOT_FOUND),
        "cancel": (Code.INVALID_TRANSITION,),
        "content": (Code.INVALID_TRANSITION,),
        "link": (Code.GONE,),
    }
    examples_in_path = {"file": "completions.csv", "secret": "the-end-of-the-url-that-content-answers"}

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Take any Accept where a file is answered: its name says what it is."""
        if self.action in ("at_once", "link"):
            renderer = self.get_renderers()[0]
            return renderer, renderer.media_type
        return super().perform_content_negotiation(request, force)

    def list(self, request: Request) -> Response:
        """List exports, newest first.

        Those of your own client that reach no further than your token, sent at once or made by a worker.
        """
        rows = Export.objects.visible_to(self.principal)
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Have an export made.

        Follow it at the address in Location, or wait for `export.ready`; then fetch its `content`.
        """
        body = self.body()
        export_request = shapes.export_request(body, dataset=body["dataset"], format=body["format"])
        made = exports.create(request=export_request, lock=body["lock"], by=self.principal, at=self.at)
        return self.answer(made, headers={"Location": f"/api/exports/{made.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read how far an export is."""
        found = Export.objects.visible_to(self.principal).filter(pk=id).first()
        if found is None:
            raise NotFound(_("export"))
        return self.answer(found)

    def cancel(self, request: Request, id: UUID) -> Response:
        """Stop an export, or take away the file of one that is ready."""
        return self.answer(exports.cancel(export_id=id, by=self.principal, at=self.at))

    def unlock(self, request: Request, id: UUID) -> Response:
        """Let the rides of a locked export be corrected again."""
        return self.answer(exports.unlock(export_id=id, by=self.principal))

    def content(self, request: Request, id: UUID) -> Response:
        """Get a link to the file.

        It needs no token, works once and for 15 minutes; then ask for another one.
        """
        secret = downloads.link(export_id=id, by=self.principal, at=self.at, reauthenticated=True)
        url = f"{settings.BASE_URL}/api/exports/files/{secret}"
        return self.answer({"url": url, "expires_at": self.at + downloads.LIFETIME})

    def link(self, request: Request, secret: str) -> HttpResponseBase:
        """Fetch a file by its link."""
        http = request._request
        handed = downloads.use(secret=secret, at=self.at, request_id=id_of(http), ip=address_of(http))
        length = {"Content-Length": str(handed.export.bytes), "Digest": f"sha-256={handed.export.sha256}"}
        return self._file(handed.export, handed.pieces, length)

    def datasets(self, request: Request) -> Response:
        """List what can be exported: columns in their order, and filters."""
        return self.answer(unpaginated(list(DATASETS.values())))

    def at_once(self, request: Request, file: str) -> HttpResponseBase:
        """Export up to 100,000 rows at once.

        `file` is a dataset and a format: `completions.csv`. More rows are refused: POST /exports. An answer that
        breaks off is not whole. `Data-As-Of` is the moment up to which it knows everything.
        """
        dataset, _dot, ending = file.partition(".")
        export_request = shapes.export_request(self.query, dataset=dataset, format=ending)
        sent = exports.stream(request=export_request, by=self.principal, at=self.at)
        return self._file(sent.export, sent.pieces, {})

    def _file(self, export: Export, pieces: Any, headers: dict[str, str]) -> HttpResponseBase:
        http = self.request._request
        told = answer_headers(http)
        told["Export-Id"] = str(export.pk)
        if export.data_as_of is not None:
            told["Data-As-Of"] = instant_text(export.data_as_of)
        name = f"{export.dataset}-{export.created_at:%Y%m%dT%H%M%SZ}.{export.format}"
        beside = headers | {"Content-Disposition": f'attachment; filename="{name}"'}
        return stream_response(http, pieces, content_type=CONTENT_TYPES[export.format], headers=beside)
