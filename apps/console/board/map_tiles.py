"""The base map: the PMTiles file of `MAP_TILES`, which browsers read by byte ranges.

A file of a city has hundreds of megabytes; the map requests its header, its directory and the tiles in view.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.console.kit.rights import require_scope
from lib.scopes import Scope

_PORTION: Final = 64 << 10  # bytes that are read from the file at a time
_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{1,15})?")


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def map_tiles(request: HttpRequest) -> HttpResponseBase:
    """Return the file, or the one range of bytes that the request names; 404 without a readable file.

    Forms of `Range` that PMTiles does not use (several ranges, the last bytes) get the whole file, as HTTP allows.
    """
    path = Path(settings.MAP_TILES)
    try:
        stat = path.stat() if settings.MAP_TILES else None
        file = path.open("rb") if stat else None
    except OSError:
        file = None
    if stat is None or file is None:
        raise Http404(_("There is no base map on this server."))
    wanted = _RANGE.fullmatch(request.headers.get("Range", ""))
    first, last = 0, stat.st_size - 1
    if wanted:
        first, last = int(wanted[1]), min(int(wanted[2] or last), last)
    if first > last:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{stat.st_size}"})
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Length": str(last - first + 1),
        "ETag": f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"',  # the map starts over when the file is replaced
        "Cache-Control": "private, max-age=3600",
    }
    if wanted:
        headers["Content-Range"] = f"bytes {first}-{last}/{stat.st_size}"
    return StreamingHttpResponse(
        _read(path, first, last - first + 1),
        status=206 if wanted else 200,
        content_type="application/vnd.pmtiles",
        headers=headers,
    )


def _read(path: Path, first: int, length: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        while length > 0 and (portion := file.read(min(_PORTION, length))):
            length -= len(portion)
            yield portion
