"""The archive of a movie's frames: one JPEG per frame in a ZIP file, for a browser that shows single frames."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import TracebackType

import cv2

from tracer.errors import UnreadableMovie
from tracer.frames import Frame

_QUALITY = 88
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same movie gives the same archive, byte for byte


class FrameArchive:
    """Writes members `frame_0000.jpeg`, `frame_0001.jpeg`, ... at analysis size, stored: JPEG does not deflate.

    One frame is in memory at a time. `first_jpeg` is the first frame's bytes (b"" before). Used as a context manager it
    leaves no half file after an error.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._zip = zipfile.ZipFile(self._path, "w", zipfile.ZIP_STORED)
        self.first_jpeg = b""
        self.frames = 0

    def add(self, frame: Frame) -> None:
        """Append this frame; its member is named by its number."""
        jpeg = jpeg_of(frame)
        if not self.first_jpeg:
            self.first_jpeg = jpeg
        self._zip.writestr(zipfile.ZipInfo(member_name(frame.number), _EPOCH), jpeg)
        self.frames += 1

    def close(self) -> None:
        self._zip.close()

    def __enter__(self) -> FrameArchive:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        if kind is not None:
            self._path.unlink(missing_ok=True)


def member_name(number: int) -> str:
    return f"frame_{number:04d}.jpeg"


def jpeg_of(frame: Frame) -> bytes:
    """The analysis frame as a JPEG picture."""
    ok, jpeg = cv2.imencode(".jpeg", frame.bgr(), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not ok:
        raise UnreadableMovie
    return jpeg.tobytes()
