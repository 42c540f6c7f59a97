"""The base map: the PMTiles file of `MAP_TILES`, which browsers read by byte ranges.

A file of a city has hundreds of megabytes; the map requests its header, its directory and the tiles in view.
"""

import re
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.console.kit.rights import require_scope
from lib.scopes import Scope

_LONGEST: Final = 4 << 20  # bytes of one answer; a tile has some 100 kB, a directory 16 kB
_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{1,15})")


@require_safe
@require_scope(Scope.ASSIGNMENTS_WRITE)
def map_tiles(request: HttpRequest) -> HttpResponse:
    """Return the range of bytes that the request names, `bytes=<first>-<last>`; 404 without a readable file.

    Refuses requests for the whole file and for more than `_LONGEST` bytes with 416: a server process holds an answer
    in memory.
    """
    wanted = _RANGE.fullmatch(request.headers.get("Range", ""))
    try:
        if not settings.MAP_TILES:
            raise FileNotFoundError
        path = Path(settings.MAP_TILES)
        stat = path.stat()
        with path.open("rb") as file:
            first, last = (int(wanted[1]), min(int(wanted[2]), stat.st_size - 1)) if wanted else (0, -1)
            if not 0 <= last - first < _LONGEST:
                return HttpResponse(status=416, headers={"Content-Range": f"bytes */{stat.st_size}"})
            file.seek(first)
            content = file.read(last - first + 1)
    except OSError:
        raise Http404(_("There is no base map on this server.")) from None
    return HttpResponse(
        content,
        status=206,
        content_type="application/vnd.pmtiles",
        headers={
            "Content-Range": f"bytes {first}-{last}/{stat.st_size}",
            "ETag": f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"',  # the map starts over when the file is replaced
            "Cache-Control": "private, max-age=3600",
        },
    )
