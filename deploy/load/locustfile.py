"""Whole student journeys for locust: sign in, upload a movie, have it inspected, mark it, trace it, take the results.

    pip install 'tiptrace[load]'
    TIPTRACE_LOAD_KEYS=keys.txt locust -f deploy/load/locustfile.py --host http://127.0.0.1:8080

`keys.txt` has an API key in each line, one for every student at once; `tiptrace admin add-user` prints one. Each key's
student goes the whole way again and again, with a minute's rest at most in between.

Polls are made as the pages make them, each second or two with the tag of the last answer, and are told apart in the
report from the rest. Besides requests the report has the rows "inspection" and "trace": from the order to its end.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from locust import HttpUser, between, task
from locust.exception import RescheduleTask, StopUser

MARKERS = (("Apex", 0.5, 0.6), ("Ruler 0mm", 0.1, 0.2), ("Ruler 10mm", 0.1, 0.4))
"""Labels and places, as shares of the frame's width and height from the lower left corner."""
INSPECTING, TRACING = ("uploading", "processing"), ("tracing",)
PATIENCE = 900.0

_keys = itertools.cycle(Path(os.environ.get("TIPTRACE_LOAD_KEYS", "keys.txt")).read_text().split())


class Student(HttpUser):
    """One person with one key, doing one thing after the other."""

    wait_time = between(5, 60)
    film: bytes = b""

    def on_start(self) -> None:
        self.client.headers.update({"X-Api-Key": next(_keys), "X-Client-Version": "bench-1"})
        if not self.told("POST", "/api/check-api_key"):
            raise StopUser
        with self.client.get("/resize-api/v1/sample-movie", catch_response=True) as answer:
            Student.film = Student.film or answer.content
            if answer.status_code != 200:
                answer.failure("no sample movie")
                raise StopUser

    @task
    def journey(self) -> None:
        movie_id = self.upload()
        ready = self.until_settled(movie_id, "inspection", INSPECTING)
        lease = self.place(movie_id, ready["frame_width"], ready["frame_height"])
        self.trace(movie_id, lease)
        self.until_settled(movie_id, "trace", TRACING)
        for kind in ("csv", "xlsx", "json"):
            path = f"/api/get-movie-trackpoints?movie_id={movie_id}&format={kind}"
            self.client.get(path, name=f"/api/get-movie-trackpoints?format={kind}")

    def upload(self) -> str:
        """Announce the movie, send it where the answer says, have it inspected; its id."""
        announced = self.told(
            "POST",
            "/api/new-movie",
            {
                "title": "Load test",
                "description": "",
                "movie_data_sha256": hashlib.sha256(self.film).hexdigest(),
                "movie_data_length": len(self.film),
                "request_key": uuid.uuid4().hex,
            },
        )
        form = announced["presigned_post"]
        fields = {name: (None, value) for name, value in form["fields"].items()}
        # A form that is signed takes no other credential.
        sent = self.client.post(
            form["url"], files={**fields, "file": ("movie", self.film)}, headers={"X-Api-Key": None}, name="upload"
        )
        if not sent.ok:
            raise RescheduleTask
        movie_id: str = announced["movie_id"]
        self.told("POST", "/resize-api/v1/process-upload", {"movie_id": movie_id})
        return movie_id

    def place(self, movie_id: str, width: int, height: int) -> str:
        """Open the movie for editing and put the markers on its first frame; the lease."""
        self.read(movie_id, 0, None)
        asked = {"movie_id": movie_id, "lease_request_key": uuid.uuid4().hex}
        lease = self.told("POST", "/api/acquire-movie-analysis-lease", asked)["lease_id"]
        for count in range(1, len(MARKERS) + 1):  # one after the other, as a hand does
            points = [{"label": label, "x": x * width, "y": y * height} for label, x, y in MARKERS[:count]]
            self.told(
                "POST",
                "/api/put-frame-trackpoints",
                {
                    "movie_id": movie_id,
                    "frame_number": 0,
                    "trackpoints": json.dumps(points),
                    "analysis_lease_id": lease,
                },
            )
        return str(lease)

    def trace(self, movie_id: str, lease: str) -> None:
        wish = {"movie_id": movie_id, "frame_start": 0, "analysis_lease_id": lease, "request_key": uuid.uuid4().hex}
        self.told("POST", "/resize-api/v1/trace-movie", wish)

    def until_settled(self, movie_id: str, what: str, moving: tuple[str, ...]) -> dict[str, Any]:
        """Poll as the page does until the job has ended; the movie's metadata."""
        began, first, tag = time.monotonic(), 0, None
        while time.monotonic() - began < PATIENCE:
            time.sleep(1 if moving is TRACING else 2)
            tag, told = self.read(movie_id, first, tag)
            if told is None:
                continue
            if told["status"] not in moving and not told.get("resuming"):
                failed = told.get("tracing_failure_summary") or told.get("status_reason")
                self.report(what, began, failed)
                if failed:
                    raise RescheduleTask
                return told
            reached = int((told.get("tracking_lock") or {}).get("last_frame_tracked") or 0)
            if reached + 1 > first and moving is TRACING:  # what is new alone, which no tag knows yet
                first, tag = reached + 1, None
        self.report(what, began, "not settled in time")
        raise RescheduleTask

    def read(self, movie_id: str, first: int, tag: str | None) -> tuple[str | None, dict[str, Any] | None]:
        """One poll, of 300 frames: the tag of what is known now, and the metadata if they are new."""
        path = f"/api/get-movie-metadata?movie_id={movie_id}&frame_start={first}&frame_count=300"
        headers = {"If-None-Match": tag} if tag else {}
        answer = self.client.get(path, headers=headers, name="/api/get-movie-metadata (poll)")
        if answer.status_code == 304 or not answer.ok:
            return tag, None
        return answer.headers.get("ETag"), answer.json()["metadata"]

    def told(self, method: str, path: str, form: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer of a request that must succeed; otherwise it is counted as failed and the journey begins anew."""
        with self.client.request(method, path, data=form, catch_response=True) as answer:
            try:
                told: dict[str, Any] = answer.json()
            except ValueError:
                told = {"error": True, "code": f"no JSON, status {answer.status_code}"}
            if told.get("error"):
                answer.failure(str(told.get("code")))
                raise RescheduleTask
            return told

    def report(self, what: str, began: float, failure: str | None) -> None:
        """A row of its own for what is no single request."""
        self.environment.events.request.fire(
            request_type="JOB",
            name=what,
            response_time=1000 * (time.monotonic() - began),
            response_length=0,
            exception=RuntimeError(failure) if failure else None,
            context={},
        )
