"""Whether the web server of this container can serve: exits 0 when its readiness says so.

It asks as the proxy does, by the public name and as https, or it would be refused or redirected.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit


def main() -> int:
    """Ask once, 3 seconds at most."""
    port = int(os.environ.get("BIND", "127.0.0.1:8000").rpartition(":")[2])
    headers = {
        "Host": urlsplit(os.environ["BASE_URL"]).netloc,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "127.0.0.1",
    }
    connection = HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        connection.request("GET", "/api/health/ready", headers=headers)
        return int(connection.getresponse().status != 200)
    except (OSError, HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
