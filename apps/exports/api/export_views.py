"""Exports: sent immediately, or made by a worker and downloaded once."""

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

_REQUEST_ERRORS: Final = (Code.PHI_NOT_PERMITTED, Code.INSUFFICIENT_SCOPE, Code.RATE_LIMITED)


class ExportViewSet(ApiViewSet):
    """Exports."""

    scopes = dict.fromkeys(
        ("list", "create", "retrieve", "cancel", "content", "datasets", "at_once"), Scope.EXPORTS_CREATE
    ) | {"link": PUBLIC, "unlock": Scope.RIDES_CORRECT}
    queries = {"list": shapes.ExportListQuery, "at_once": shapes.ImmediateExportQuery}
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
        "create": _REQUEST_ERRORS,
        "at_once": (*_REQUEST_ERRORS, Code.PAYLOAD_TOO_LARGE, Code.NOT_FOUND),
        "cancel": (Code.INVALID_TRANSITION,),
        "content": (Code.INVALID_TRANSITION,),
        "link": (Code.GONE,),
    }
    examples_in_path = {"file": "completions.csv", "secret": "the-end-of-the-url-that-content-answers"}

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Accept any Accept header for files: the file name says the format."""
        if self.action in ("at_once", "link"):
            renderer = self.get_renderers()[0]
            return renderer, renderer.media_type
        return super().perform_content_negotiation(request, force)

    def list(self, request: Request) -> Response:
        """List exports, newest first.

        Exports and immediate exports of your client whose data scope is within that of your token.
        """
        rows = Export.objects.visible_to(self.principal)
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Create an export job.

        Poll the URL in Location or wait for the event `export.ready`, then download its `content`.
        """
        body = self.body()
        export_request = shapes.export_request(body, dataset=body["dataset"], format=body["format"])
        export = exports.create(request=export_request, lock=body["lock"], by=self.principal, at=self.at)
        return self.answer(export, headers={"Location": f"/api/exports/{export.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Get an export with its progress."""
        export = Export.objects.visible_to(self.principal).filter(pk=id).first()
        if export is None:
            raise NotFound(_("export"))
        return self.answer(export)

    def cancel(self, request: Request, id: UUID) -> Response:
        """Cancel an export, or delete the file of one that is ready."""
        return self.answer(exports.cancel(export_id=id, by=self.principal, at=self.at))

    def unlock(self, request: Request, id: UUID) -> Response:
        """Unlock the rides of a locked export, so that they can be corrected again."""
        return self.answer(exports.unlock(export_id=id, by=self.principal))

    def content(self, request: Request, id: UUID) -> Response:
        """Get a link to the file.

        The link needs no token, works once, and expires after 15 minutes. Request a new one as needed.
        """
        secret = downloads.link(export_id=id, by=self.principal, at=self.at, reauthenticated=True)
        url = f"{settings.BASE_URL}/api/exports/files/{secret}"
        return self.answer({"url": url, "expires_at": self.at + downloads.LIFETIME})

    def link(self, request: Request, secret: str) -> HttpResponseBase:
        """Download a file by its link."""
        http = request._request
        download = downloads.use(secret=secret, at=self.at, request_id=id_of(http), ip=address_of(http))
        length = {"Content-Length": str(download.export.bytes), "Digest": f"sha-256={download.export.sha256}"}
        return self._file(download.export, download.chunks, length)

    def datasets(self, request: Request) -> Response:
        """List the datasets with their columns and filters."""
        return self.answer(unpaginated(list(DATASETS.values())))

    def at_once(self, request: Request, file: str) -> HttpResponseBase:
        """Export up to 100,000 rows immediately.

        `file` is a dataset and a format, such as `completions.csv`. For more rows, use POST /exports. A response that
        breaks off is incomplete. It includes everything recorded before `Data-As-Of`.
        """
        dataset, _dot, suffix = file.partition(".")
        export_request = shapes.export_request(self.query, dataset=dataset, format=suffix)
        streamed = exports.stream(request=export_request, by=self.principal, at=self.at)
        return self._file(streamed.export, streamed.chunks, {})

    def _file(self, export: Export, chunks: Any, headers: dict[str, str]) -> HttpResponseBase:
        http = self.request._request
        response_headers = answer_headers(http)
        response_headers["Export-Id"] = str(export.pk)
        if export.data_as_of is not None:
            response_headers["Data-As-Of"] = instant_text(export.data_as_of)
        name = f"{export.dataset}-{export.created_at:%Y%m%dT%H%M%SZ}.{export.format}"
        file_headers = headers | {"Content-Disposition": f'attachment; filename="{name}"'}
        return stream_response(http, chunks, content_type=CONTENT_TYPES[export.format], headers=file_headers)
