"""One trace uses one core: whoever gives eight movies two cores knows what each of them costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.movies import write_movie
from tracer import synthetic

_TRACE = """
import json, os, sys, time
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # as a worker's child does
import cv2
cv2.setNumThreads(1)
from tracer.follow import Follower
from tracer.media import open_movie
from tracer.model import Limits, Marker, TraceRequest

follower = Follower(TraceRequest(tuple(Marker(*m) for m in json.loads(sys.argv[2]))))
def threads():
    return len(os.listdir("/proc/self/task"))

before, most, frames = threads(), 0, 0
began, mine = time.process_time(), time.thread_time()
with open_movie(sys.argv[1], limits=Limits()) as movie:
    for frame in movie.frames():
        frames += follower.step(frame) is not None
        most = max(most, threads())
print(json.dumps([frames, most - before, time.process_time() - began, time.thread_time() - mine]))
"""


@pytest.mark.parametrize("pixels", ["as filmed", "bgr0"])
def test_all_that_a_trace_computes_it_computes_in_one_thread(tmp_path: Path, pixels: str) -> None:
    """Decoding, conversion of pixels, camera motion, following: none of them starts helpers of its own."""
    scene = synthetic.scene("shake", 1, 40)
    path = tmp_path / "film.mkv"
    if pixels == "as filmed":
        synthetic.write(scene, path.with_suffix(".mp4"))
        path.with_suffix(".mp4").rename(path)
    else:
        write_movie(path, scene.pictures(), codec="ffv1", pix_fmt=pixels)
    markers = json.dumps([[m.marker_id, m.label, m.x, m.y] for m in scene.markers])
    told = subprocess.run([sys.executable, "-c", _TRACE, path, markers], capture_output=True, check=True, timeout=120)
    frames, helpers, process, thread = json.loads(told.stdout)
    assert frames == 40
    assert helpers == 0
    assert thread > 0.1  # enough to tell the two apart
    assert process - thread < 0.05 * process
