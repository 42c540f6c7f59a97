"""Uploaded files are held in memory, and never written to a disk as they arrive."""

from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import InMemoryUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler


class InMemory(FileUploadHandler):
    """Hold the files of a request in memory, up to UPLOAD_MAX_BYTES in total; beyond that, only their size.

    Django's own handlers would write files larger than 2.5 MB to the temporary folder, where scans would be
    unencrypted.  A form that checks `size` before reading reports files that are too large.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._room: int = settings.UPLOAD_MAX_BYTES  # bytes left for the files of the request
        self._kept = BytesIO()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._kept = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._room -= len(raw_data)
        if self._room >= 0:
            self._kept.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile[Any]:
        content = self._kept if self._room >= 0 else BytesIO()
        content.seek(0)
        return InMemoryUploadedFile(
            file=content,
            field_name=self.field_name,
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )
