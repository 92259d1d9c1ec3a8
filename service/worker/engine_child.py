"""What runs inside a slot's child process: decode, trace, draw, and send what comes out up a bounded pipe.

The tracer is imported late, after limits and thread counts are set. Everything sent is a record of service.domain.job.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from service.domain.job import Chunk, Done, InspectTask, Progress, Stopped, TracedFrame, TraceTask

GO, HAND_BACK, ABORT = 0, 1, 2
CHUNK_FRAMES = 99
CHUNK_SECONDS = 1.5
PROGRESS_SECONDS = 2.0
CHECKPOINT_SECONDS = 10.0
RENDER_AHEAD = 8
ENCODER_THREADS = 2
_NICENESS = 19

Send = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Failed:
    """The task cannot succeed: a code and numbers of the closed list, and for the log alone the traceback."""

    code: str
    numbers: Mapping[str, int]
    traceback: str = ""


class _Wires:
    """The child's end of the pipe and the parent's order, set once when the process starts."""

    pipe: Connection
    order: Any


def start(pipe: Connection, order: Any, megabytes: int) -> None:
    """Set this process up: quiet, limited, and gone when its parent is."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when a job ends
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(_NICENESS)
    # Tracing and drawing are both many short calls that let go of the interpreter; at the usual 5 ms each would wait
    # for the other longer than it works.
    sys.setswitchinterval(0.0002)
    limit = megabytes << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _Wires.pipe, _Wires.order = pipe, order
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def perform(task: InspectTask | TraceTask) -> None:
    """Do one task. Sends this process's id first, then records, last Done, Stopped or Failed."""
    import cv2

    from tracer.errors import MovieError

    cv2.setNumThreads(1)
    send = _Wires.pipe.send
    send(os.getpid())
    try:
        if isinstance(task, InspectTask):
            _inspect(task, send)
        else:
            _trace(task, send)
    except MovieError as error:
        send(Failed(error.code, dict(error.numbers)))
    except MemoryError:
        send(Failed("out_of_memory", {}))
    except Exception as error:
        code = "out_of_memory" if _lacks_memory(error) else "internal"
        send(Failed(code, {}, traceback.format_exc()))


def _lacks_memory(error: Exception) -> bool:
    """A thread needs memory too: where there is none for another, Python and libav say so each in its own way."""
    import cv2

    return (
        (isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem)
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
        or (isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.ENOMEM))
    )


class _Stop(Exception):
    """The parent wants this task to end now."""


def _ordered_to_stop() -> bool:
    if _Wires.order.value == ABORT:
        raise _Stop
    return bool(_Wires.order.value == HAND_BACK)


def _inspect(task: InspectTask, send: Send) -> None:
    from tracer.archive import FrameArchive
    from tracer.frames import Frame
    from tracer.media import inspect
    from tracer.model import Limits

    archive_path, first_path = task.folder / "frames.zip", task.folder / "first.jpeg"
    told = time.monotonic()

    def on_frame(frame: Frame) -> None:
        nonlocal told
        if _ordered_to_stop():  # an inspection starts over: there is nothing worth handing on
            raise _Stop
        archive.add(frame)
        if time.monotonic() - told >= PROGRESS_SECONDS:
            send(Progress(frame.number))
            told = time.monotonic()

    try:
        with FrameArchive(archive_path) as archive:
            found = inspect(
                task.source,
                rotation=task.rotation,
                limits=Limits(max_pixels=task.max_pixels, max_frames=task.max_frames),
                on_frame=on_frame,
            )
    except _Stop:
        send(Stopped())
        return
    first_path.write_bytes(archive.first_jpeg)
    result = asdict(found)
    result["cuts"], result["warnings"] = list(found.cuts), list(found.warnings)
    send(Done(result, {"archive": archive_path, "first_frame": first_path}))


def _trace(task: TraceTask, send: Send) -> None:
    import numpy as np

    from tracer.errors import MovieCutOff
    from tracer.media import open_movie
    from tracer.model import Limits, Marker, TraceRequest
    from tracer.render import LabelledMovie
    from tracer.retrace import Retrace

    request = TraceRequest(
        markers=tuple(Marker(p.marker_id, p.label, p.x, p.y) for p in task.markers),
        frame_start=task.frame_start,
        frame_end=task.frame_end,
        rotation=task.rotation,
        anchors={n: tuple(Marker(p.marker_id, p.label, p.x, p.y) for p in ps) for n, ps in task.anchors.items()},
    )
    try:
        follower = Retrace(request, state=task.checkpoint, strategy=task.strategy)
    except ValueError:  # a checkpoint of another version: the attempt starts over at the source
        follower = Retrace(request, strategy=task.strategy)
    outbox = _Outbox(send, follower.save)
    video_path = task.folder / "traced.mp4"
    known = {frame.number: frame.points for frame in task.known}
    limits = Limits(max_pixels=task.max_pixels, max_frames=task.max_frames)
    last, earlier, lost_earlier = -1, 0, 0
    try:
        if follower.must_look_back:
            follower.look_back(task.source, limits=limits, on_frame=_backward_progress(send, follower))
        with (
            open_movie(task.source, rotation=task.rotation, limits=limits) as movie,
            LabelledMovie(
                video_path,
                movie.frame_width,
                movie.frame_height,
                fps=movie.fps,
                labels=[p.label for p in task.markers],
                colors=[p.color for p in task.markers],
                preset=task.video_preset,
                tags=task.tags,
                threads=ENCODER_THREADS,
            ) as video,
            _Beside(video.add) as draw,
        ):
            for frame in movie.frames():
                if _ordered_to_stop():
                    raise _Stop
                last = frame.number
                result = follower.step(frame)
                if result is not None:
                    outbox.add(result)
                    draw(frame, result.points, result.status)
                    continue
                places = known.get(frame.number, {})
                spots = [places.get(p.marker_id) for p in task.markers]
                if task.frame_start <= frame.number <= task.frame_end:  # traced by an earlier attempt
                    earlier += 1
                    lost_earlier += sum(1 for spot in spots if spot is not None and spot[2] == 0)
                if all(spot is None for spot in spots):
                    draw(frame)
                else:
                    points = np.array([s[:2] if s else (0.0, 0.0) for s in spots], dtype=np.float64)
                    status = np.array([s[2] if s else 0 for s in spots], dtype=np.int8)
                    draw(frame, points, status)
            promised = max(movie.promised_frames, task.frame_end + 1)
    except _Stop:
        if _Wires.order.value == HAND_BACK:
            outbox.flush(checkpoint=True)
        send(Stopped())
        return
    outbox.flush()
    if last < task.frame_end:
        raise MovieCutOff(last=max(0, last), promised=promised)
    counted = {"frames": earlier + outbox.sent, "lost": lost_earlier + outbox.lost}
    send(Done(counted, {"labelled": video_path}))


def _backward_progress(send: Send, follower: Any) -> Callable[[], None]:
    """Called for every frame of the pass backwards. That pass starts over in the next attempt: nothing is handed on."""
    told = time.monotonic()

    def on_frame() -> None:
        nonlocal told
        if _ordered_to_stop():
            raise _Stop
        if time.monotonic() - told >= PROGRESS_SECONDS:
            send(Progress(follower.reached))
            told = time.monotonic()

    return on_frame


class _Beside:
    """Draws and encodes in a thread of its own while the next frames are traced; a few frames may wait.

    The codec and the drawing let go of the interpreter, so the two go on at once. What the drawing raises is raised
    here at one of the next calls, or at the end.
    """

    def __init__(self, add: Callable[..., None]) -> None:
        self._add = add
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> _Beside:
        return self

    def __call__(self, frame: Any, *drawn: Any) -> None:
        self._waiting.append(self._thread.submit(lambda: self._add(frame.planes(), *drawn, time=frame.time)))
        while len(self._waiting) > RENDER_AHEAD:
            self._waiting.popleft().result()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for one in self._waiting:
                one.result()


class _Outbox:
    """Collects frames into chunks: full ones, and at least one every second; now and then with a checkpoint."""

    def __init__(self, send: Send, save: Callable[[], bytes]) -> None:
        self._send = send
        self._save = save
        self._frames: list[TracedFrame] = []
        self._flushed = self._saved = time.monotonic()
        self.sent = 0
        self.lost = 0

    def add(self, result: Any) -> None:
        points = tuple(
            (float(x), float(y), int(status), float(err))
            for (x, y), status, err in zip(result.points, result.status, result.err, strict=True)
        )
        self.lost += sum(1 for point in points if point[2] == 0)
        self._frames.append(TracedFrame(result.frame_number, result.time, points))
        now = time.monotonic()
        if len(self._frames) >= CHUNK_FRAMES or now - self._flushed >= CHUNK_SECONDS:
            self.flush(checkpoint=now - self._saved >= CHECKPOINT_SECONDS)

    def flush(self, *, checkpoint: bool = False) -> None:
        self._flushed = time.monotonic()
        if not self._frames:
            return
        state = self._save() if checkpoint else None
        if checkpoint:
            self._saved = self._flushed
        self._send(Chunk(tuple(self._frames), state))
        self.sent += len(self._frames)
        self._frames = []
