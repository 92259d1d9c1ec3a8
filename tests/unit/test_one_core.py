"""One trace uses one core: whoever gives eight movies two cores knows what each of them costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tracer import synthetic

_TRACE = """
import json, sys, time
import cv2
cv2.setNumThreads(1)  # as a worker's child does
from tracer.follow import Follower
from tracer.media import open_movie
from tracer.model import Limits, Marker, TraceRequest

follower = Follower(TraceRequest(tuple(Marker(*m) for m in json.loads(sys.argv[2]))))
began, mine = time.process_time(), time.thread_time()
with open_movie(sys.argv[1], limits=Limits()) as movie:
    frames = sum(follower.step(frame) is not None for frame in movie.frames())
print(json.dumps([frames, time.process_time() - began, time.thread_time() - mine]))
"""


def test_all_that_a_trace_computes_it_computes_in_one_thread(tmp_path: Path) -> None:
    """Decoding, camera motion, following: with the limits of a job, none of them starts helpers of its own."""
    scene = synthetic.scene("shake", 1, 40)
    path = tmp_path / "film.mp4"
    synthetic.write(scene, path)
    markers = json.dumps([[m.marker_id, m.label, m.x, m.y] for m in scene.markers])
    told = subprocess.run([sys.executable, "-c", _TRACE, path, markers], capture_output=True, check=True, timeout=120)
    frames, process, thread = json.loads(told.stdout)
    assert frames == 40
    assert thread > 0.1  # enough to tell the two apart
    assert process - thread < 0.05 * process
