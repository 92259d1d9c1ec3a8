"""What a worker that was killed leaves in the folder for temporary files: a student's movie, and room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from service.worker.job_folder import job_folder, remove_left_folders

HOLDER = """
import sys, time
from service.worker.job_folder import job_folder
with job_folder() as folder:
    (folder / "movie").write_bytes(b"a movie")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def _aged(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_the_folder_of_a_killed_worker_goes_and_that_of_a_living_one_stays(temporary: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    folder = Path(holder.stdout.readline().strip())
    assert folder.parent == temporary
    _aged(folder)
    assert remove_left_folders() == 0, "its worker lives"
    assert (folder / "movie").exists()
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert remove_left_folders() == 1
    assert list(temporary.iterdir()) == []


def test_a_folder_just_made_and_what_is_not_ours_to_remove_stays(temporary: Path) -> None:
    for name in ("tiptrace-job-young", "tiptrace-other", "elsewhere"):
        (temporary / name).mkdir()
    _aged(temporary / "tiptrace-other")
    (temporary / "elsewhere" / "kept").touch()
    (temporary / "tiptrace-job-link").symlink_to(temporary / "elsewhere")
    assert remove_left_folders() == 0
    assert (temporary / "elsewhere" / "kept").exists()
    assert (temporary / "tiptrace-job-young").is_dir()


def test_a_job_folder_is_gone_with_its_job(temporary: Path) -> None:
    with job_folder() as folder:
        (folder / "movie").touch()
    assert list(temporary.iterdir()) == []
