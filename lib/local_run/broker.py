"""Transport options of Celery for each kind of broker; other settings of Celery are in settings.py."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def transport_options(url: str, var_dir: Path) -> dict[str, Any]:
    """Return the transport options: short waits for a broker that is down, and no silent loss of messages."""
    if url.startswith("filesystem"):
        folder = Path(urlsplit(url).path or var_dir / "broker")
        return {
            "data_folder_in": str(folder / "queue"),
            "data_folder_out": str(folder / "queue"),
            "control_folder": str(folder / "control"),
            "polling_interval": 0.1,
        }
    if url.startswith("redis"):
        return {
            "visibility_timeout": 60,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "socket_timeout": 1,
            "socket_connect_timeout": 1,
        }
    return {"confirm_publish": True, "read_timeout": 0.5, "write_timeout": 0.5}
