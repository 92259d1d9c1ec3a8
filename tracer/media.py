"""Open a movie that a stranger sent, and decode it frame by frame.

Nothing in the file may make the decoder read another file or an address: only self-contained container formats are
let in, and only this one local file may be opened. What a frame would cost is read from the header before anything is
decoded. Errors are `tracer.errors`; the decoder's own words never leave this module. A decoder that gets no memory
raises MemoryError: that is this machine's limit, not damage in the file, and must not make a movie shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from tracer.errors import (
    MovieError,
    NoFrames,
    NoPicture,
    TooManyFrames,
    TooManyPixels,
    UnreadableMovie,
    UnsupportedCodec,
)
from tracer.frames import Frame
from tracer.geometry import View, quarter_of, total_rotation
from tracer.inspection import Survey
from tracer.model import Inspection, Limits

# Formats that hold their pictures themselves. Play lists (hls, concat, dash, imf, image sequences) are not among them.
CONTAINERS = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi", "asf", "mpeg", "mpegts", "flv", "ogg")
_PATIENCE = 64  # broken packets in a row before the rest of the file is given up


def open_movie(path: str | Path, *, rotation: int = 0, limits: Limits = Limits()) -> Movie:  # noqa: B008 (frozen)
    """Open `path` and decode its first frame, so that size and rotation are known. Use as a context manager.

    `rotation` is the user's own turn, clockwise, on top of the file's. Raises UnreadableMovie, NoPicture,
    UnsupportedCodec, TooManyPixels or TooManyFrames (when the header alone tells).
    """
    container = _open_container(Path(path), limits)
    try:
        stream = _picture_stream(container)
        _check_header(stream, limits)
        return Movie(container, stream, rotation, limits)
    except (MovieError, MemoryError):
        container.close()
        raise
    except Exception as fault:  # libav has dozens of error classes, and some faults surface as ValueError
        container.close()
        raise UnreadableMovie from fault


def _open_container(path: Path, limits: Limits) -> InputContainer:
    allowed = {"format_whitelist": ",".join(CONTAINERS), "protocol_whitelist": "file"}
    # Opening already decodes a frame to learn its format, unless the decoder itself knows the limit.
    probing = {"max_pixels": _decoder_limit(limits), "threads": "1"}
    try:
        # The prefix keeps a name such as "concat:a|b" or "http:x" a name.
        return av.open(f"file:{path.absolute()}", options=probing, container_options=allowed, metadata_errors="replace")
    except (av.FFmpegError, OSError, ValueError) as fault:
        raise UnreadableMovie from fault


def _picture_stream(container: InputContainer) -> VideoStream:
    """The first moving picture; a cover image in a sound file is none."""
    covers = av.stream.Disposition.attached_pic
    moving = [s for s in container.streams.video if not s.disposition & covers]
    if not moving:
        raise NoPicture if container.streams.audio else UnreadableMovie
    usable = [s for s in moving if s.codec_context is not None]
    if not usable:
        raise UnsupportedCodec
    return usable[0]


def _check_header(stream: VideoStream, limits: Limits) -> None:
    width, height = stream.codec_context.width, stream.codec_context.height
    if width * height > limits.max_pixels:
        raise TooManyPixels(width=width, height=height, limit=limits.max_pixels // 1_000_000)
    if stream.frames > limits.max_frames:
        raise TooManyFrames(limit=limits.max_frames)


class Movie:
    """An open movie. `frames()` runs through it once; memory is bounded by a few frames whatever the length.

    `width`, `height`: the upright source's. `frame_width`, `frame_height`: the analysis frame's. `rotation`: the
    file's own flag, clockwise. `fps`: the header's mean rate. `promised_frames`: what the header says, by count or by
    duration; 0 if it says nothing. `damaged`: packets that did not decode so far.
    """

    def __init__(self, container: InputContainer, stream: VideoStream, rotation: int, limits: Limits) -> None:
        self._container = container
        self._stream = stream
        self._limits = limits
        self._started = False
        self.damaged = 0
        self.promised_frames = _promised_frames(container, stream)
        self.fps = float(_header_rate(stream))
        stream.codec_context.options = {"max_pixels": _decoder_limit(limits)}
        stream.codec_context.thread_count = limits.threads
        stream.codec_context.thread_type = "AUTO" if limits.threads > 1 else "NONE"
        self._pictures: Generator[av.VideoFrame] = self._decoded()
        first = next(self._pictures, None)
        if first is None:
            raise _nothing_decodes(stream, self.promised_frames)
        self._first = first
        tick = first.time_base or stream.time_base  # the last frames out of a decoder carry none of their own
        self._clock = None if tick is None else float(tick)
        self.rotation = quarter_of(-first.rotation)  # libav counts counter-clockwise
        aspect = stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio
        self.view = View.of(
            first.width, first.height, _sane_aspect(aspect), total_rotation(self.rotation, rotation % 360)
        )

    @property
    def width(self) -> int:
        return self.view.width

    @property
    def height(self) -> int:
        return self.view.height

    @property
    def frame_width(self) -> int:
        return self.view.frame_width

    @property
    def frame_height(self) -> int:
        return self.view.frame_height

    @property
    def container_name(self) -> str:
        return self._container.format.name

    @property
    def codec_name(self) -> str:
        return self._stream.codec_context.codec.canonical_name

    @property
    def pixel_format(self) -> str:
        return self._first.format.name

    def frames(self) -> Iterator[Frame]:
        """Every frame that decodes, in the order of display, numbered from 0.

        A damaged stretch is skipped (`damaged` counts its packets) and decoding goes on behind it. Raises TooManyFrames
        when one more frame than `limits.max_frames` comes, and RuntimeError when called twice.
        """
        if self._started:
            raise RuntimeError("the frames of an open movie can be read once")
        self._started = True
        start = self._seconds(self._first)
        number = 0
        picture: av.VideoFrame | None = self._first
        while picture is not None:
            if number >= self._limits.max_frames:
                raise TooManyFrames(limit=self._limits.max_frames)
            now = self._seconds(picture)
            yield Frame(number, None if now is None or start is None else now - start, picture, self.view)
            number += 1
            picture = next(self._pictures, None)

    def frames_from(self, ticks: int) -> Iterator[Frame]:
        """Frames in the order of display, beginning at the key frame at or before the timestamp `ticks`, if the file's
        index can be trusted: the caller has to check what comes. Their numbers are all 0. See `frames` for the rest.
        """
        if self._started:
            raise RuntimeError("the frames of an open movie can be read once")
        self._started = True
        self._pictures.close()
        try:
            self._container.seek(ticks, stream=self._stream)
        except (av.FFmpegError, OverflowError):
            return
        self._stream.codec_context.flush_buffers()
        for picture in self._decoded():
            yield Frame(0, None, picture, self.view)

    def close(self) -> None:
        self._pictures.close()
        self._container.close()

    def __enter__(self) -> Movie:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _seconds(self, picture: av.VideoFrame) -> float | None:
        return None if picture.pts is None or self._clock is None else picture.pts * self._clock

    def _decoded(self) -> Generator[av.VideoFrame]:
        decoder = self._stream.codec_context
        for packet in self._packets():
            try:
                pictures = decoder.decode(packet)
            except av.FFmpegError:
                _check_memory(decoder)
                self.damaged += 1
                continue
            yield from pictures

    def _packets(self) -> Iterator[av.Packet[VideoStream] | None]:
        """Packets to the end of the file, then None, which makes the decoder hand out what it still holds."""
        broken = 0
        while broken < _PATIENCE:
            try:
                for packet in self._container.demux(self._stream):
                    if packet.size:
                        broken = 0
                        yield packet
                break
            except av.FFmpegError:
                _check_memory(self._stream.codec_context)
                broken += 1
                self.damaged += 1
        yield None


def inspect(
    path: str | Path,
    *,
    rotation: int = 0,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    on_frame: Callable[[Frame], None] | None = None,
) -> Inspection:
    """Decode the whole file once, in bounded memory, and say what was found.

    `on_frame` gets every frame on the way, so that an archive can be written in the same pass; what it raises ends the
    inspection. Raises the errors of `open_movie`, and TooManyFrames.
    """
    with open_movie(path, rotation=rotation, limits=limits) as movie:
        survey = Survey()
        for frame in movie.frames():
            survey.add(frame)
            if on_frame is not None:
                on_frame(frame)
        return survey.inspection(movie)


def _check_memory(decoder: VideoCodecContext) -> None:
    """Raises MemoryError where two more pictures do not fit.

    The libraries' own word for it means little: some decoders say invalid data when they get no memory for a picture,
    and a reader of files says no memory where a damaged index tells of a giant packet.
    """
    if decoder.pix_fmt and decoder.width and decoder.height:
        _ = [av.VideoFrame(decoder.width, decoder.height, decoder.pix_fmt) for _ in range(2)]


def _decoder_limit(limits: Limits) -> str:
    """The decoder's own cap, for streams that grow behind their header. It counts padded sizes, so it has some room."""
    return str(2 * limits.max_pixels)


def _promised_frames(container: InputContainer, stream: VideoStream) -> int:
    if stream.frames > 0:
        return stream.frames
    if stream.duration and stream.time_base:
        seconds = float(stream.duration * stream.time_base)
    else:
        seconds = (container.duration or 0) / av.time_base
    return max(0, round(seconds * float(_header_rate(stream))))


def _header_rate(stream: VideoStream) -> Fraction:
    for rate in (stream.average_rate, stream.guessed_rate):
        if rate and 0 < rate <= 1000:
            return rate
    return Fraction(25)


def _sane_aspect(aspect: Fraction | None) -> float:
    return float(aspect) if aspect and Fraction(1, 20) <= aspect <= 20 else 1.0


def _nothing_decodes(stream: VideoStream, promised: int) -> MovieError:
    """No frame came: a decoder that never learned the picture's format does not know this codec's flavour."""
    if stream.codec_context.pix_fmt is None and stream.codec_context.codec.canonical_name not in (
        "h264",
        "hevc",
        "av1",
    ):
        return UnsupportedCodec()
    return NoFrames(promised=promised) if promised else UnreadableMovie()
