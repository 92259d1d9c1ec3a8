"""The roles of the templates are as large as what the processes do, and hardly larger.

A web service and a worker, each with its own role, take a movie from a person's computer to its results. A call that
the role does not allow is refused as on AWS, and the walk would end there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from service.local.emulator import Emulator
from service.runtime import Runtime, open_clients, open_runtime
from service.usecases.examine_bucket import examine_bucket
from service.usecases.examine_queue import examine_queue
from service.usecases.examine_tables import examine_tables
from service.usecases.sweep import sweep
from service.worker.pool import Pool
from tests.support.role import Role, role
from tests.support.service import Lab, serving_lab
from tests.support.stack import make_data_stack
from tests.support.uploads import mp4

# A whole journey in each role; that the roles name what the code calls is read from them in test_deployment.
pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

MOVIE = mp4(frames=8)


@dataclass
class Deployment:
    """A web service and a worker over the same tables, each in its role."""

    lab: Lab
    web: Role
    worker: Role

    @property
    def objects(self) -> str:
        return f"arn:aws:s3:::{self.lab.runtime.settings.bucket}/"

    async def done(self, method: str, path: str, person: Any = None, /, **fields: Any) -> dict[str, Any]:
        """Ask the web service; what it answers must be a success."""
        person = person or self.lab.people.ada
        if method == "GET":
            answer = await self.lab.get(path, person, **fields)
        elif method == "POST":
            answer = await self.lab.post(path, person, **fields)
        else:
            answer = await self.lab.http.request(method, path, json=fields, headers=person.headers)
        assert answer.is_success, (path, answer.status_code, answer.text, self.web.refused)
        return answer.json() if "json" in answer.headers["content-type"] else {}

    async def settled(self, movie_id: str) -> dict[str, Any]:
        """The movie's row once no job works on it."""
        async with asyncio.timeout(60):
            while True:
                movie = await self.lab.runtime.stores.movies.get(movie_id)
                assert movie is not None
                if movie.tracing is None:
                    return dict(movie.row)
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    async with serving_lab(emulator.endpoint, tmp_path_factory.mktemp("roles")) as lab:
        settings = lab.runtime.settings
        names = (settings.table_prefix, settings.bucket)
        made = Deployment(lab, role("WebRole", *names), role("WorkerRole", *names))
        dress(made.web, lab.runtime)
        async with working(made, emulator.endpoint):
            yield made


def dress(worn: Role, runtime: Runtime) -> None:
    worn.worn_by(runtime.stores.database.client, runtime.stores.objects.client, runtime.stores.queue.client)


@asynccontextmanager
async def working(deployment: Deployment, endpoint: str) -> AsyncIterator[None]:
    settings = deployment.lab.runtime.settings.model_copy(update={"grace_seconds": 0})
    async with open_runtime(settings, endpoint=endpoint) as runtime:
        dress(deployment.worker, runtime)
        pool = Pool(runtime.stores, settings, 1)
        running = asyncio.create_task(pool.run())
        try:
            yield
            await sweep(runtime.stores)
        finally:
            pool.stop()
            await running


async def test_a_movies_way_to_its_results_needs_no_more_than_the_roles_allow(deployment: Deployment) -> None:
    lab, ada, root = deployment.lab, deployment.lab.people.ada, deployment.lab.people.root
    assert (await lab.get("/readyz")).status_code == 200
    announced = await deployment.done(
        "POST", "/api/new-movie", title="Bean", movie_data_sha256=hashlib.sha256(MOVIE).hexdigest(),
        movie_data_length=len(MOVIE),
    )  # fmt: skip
    movie_id, form = announced["movie_id"], announced["presigned_post"]
    assert deployment.web.allows("s3:PutObject", deployment.objects + form["fields"]["key"])
    async with httpx.AsyncClient() as store:
        assert (await store.post(form["url"], data=form["fields"], files={"file": MOVIE})).is_success
    await deployment.done("POST", "/resize-api/v1/process-upload", movie_id=movie_id)
    assert (await deployment.settled(movie_id))["status"] == "ready", deployment.worker.refused

    lease_id = await lab.lease(movie_id)
    points = json.dumps([{"label": "Apex", "x": 20, "y": 90}, {"label": "Leaf", "x": 30, "y": 80}])
    held = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    for number in (0, 3):
        await deployment.done("POST", "/api/put-frame-trackpoints", **held, frame_number=number, trackpoints=points)
    await deployment.done("POST", "/api/put-frame-trackpoints", **held, frame_number=3, trackpoints="[]")
    await deployment.done("POST", "/api/rename-marker", **held, old_label="Leaf", new_label="Blatt")
    traced = {"frame_start": 0, "request_key": uuid.uuid4().hex}
    await deployment.done("POST", "/resize-api/v1/trace-movie", **held, **traced)
    row = await deployment.settled(movie_id)
    assert row["last_frame_tracked"] == 7, (row, deployment.worker.refused)
    for kind in ("csv", "xlsx", "json"):
        await deployment.done("GET", "/api/get-movie-trackpoints", movie_id=movie_id, format=kind)
    shown = await deployment.done("GET", "/api/get-movie-metadata", movie_id=movie_id)
    for url in (url for name, url in shown["metadata"].items() if name.endswith("_url") and url):
        async with httpx.AsyncClient() as store:
            assert (await store.get(url)).is_success
    await deployment.done("GET", "/resize-api/v1/frame", movie_id=movie_id, frame_number=2)
    lease_id = await lab.lease(movie_id)
    await deployment.done("POST", "/api/rotate-movie", movie_id=movie_id, analysis_lease_id=lease_id, rotation=90)
    await deployment.settled(movie_id)

    await deployment.done("GET", f"/api/admin/movies/{movie_id}/storage-health", root)
    await deployment.done("GET", "/api/list-users-courses", root)
    await deployment.done("GET", "/api/list-users", lab.people.teacher)
    await deployment.done("GET", "/api/get-logs", root)
    await deployment.done("POST", "/api/list-movies")
    await deployment.done("POST", "/api/admin/courses", root, course_id="phys", course_name="Physics")
    path = f"/api/admin/courses/phys/administrators/{ada.user_id}"
    await deployment.done("PUT", path, root)
    await deployment.done("DELETE", path, root)
    await deployment.done("POST", "/api/delete-movie", movie_id=movie_id, delete=1)
    assert (deployment.web.refused, deployment.worker.refused) == (set(), set())


async def test_the_roles_allow_hardly_more_than_was_done(deployment: Deployment) -> None:
    """Runs after the walk: every kind of call that a role allows has been made."""
    idle = {
        one.name: {action for actions, _ in one.statements for action in actions} - {action for action, _ in one.used}
        for one in (deployment.web, deployment.worker)
    }
    # On AWS the queue is found by its name, which the embedded default knows. A signed form is no call. The sweeper
    # sends, ECS protects, and what a worker reads much of at once is put together: nothing of it is in this walk.
    assert idle == {
        "WebRole": {"sqs:GetQueueUrl", "s3:PutObject"},
        "WorkerRole": {"sqs:GetQueueUrl", "sqs:SendMessage", "ecs:UpdateTaskProtection", "dynamodb:BatchGetItem"},
    }


async def test_a_worker_that_a_movie_has_taken_over_can_do_little(deployment: Deployment) -> None:
    """Movies come from strangers and are opened in workers: people, keys and the trail are out of their reach."""
    tables = f"arn:aws:dynamodb:us-east-1:000000000000:table/{deployment.lab.runtime.settings.table_prefix}"
    for table in ("users", "unique_emails", "api_keys", "courses", "course_users"):
        for action in ("GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem"):
            assert not deployment.worker.allows(f"dynamodb:{action}", tables + table)
    for one in (deployment.web, deployment.worker):
        for action in ("UpdateItem", "DeleteItem"):
            assert not one.allows(f"dynamodb:{action}", tables + "logs")
        assert not one.allows("s3:DeleteObject", deployment.objects + "movies/m1/j1/movie")
        assert not one.allows("s3:PutBucketPolicy", deployment.objects.rstrip("/"))
    assert not deployment.web.allows("s3:PutObject", deployment.objects + "movies/m1/j1/movie")
    assert not deployment.web.allows("sqs:ReceiveMessage", "arn:aws:sqs:us-east-1:000000000000:x-jobs")


async def test_the_doctor_in_the_operators_role_may_look_at_everything(emulator: Emulator) -> None:
    async with open_clients(emulator.endpoint) as clients:
        await make_data_stack(clients, "seen-", "seen-movies", "https://lab.example")
        operator = role("OperatorRole", "seen-", "seen-movies")
        operator.worn_by(clients.dynamodb, clients.s3, clients.sqs)
        found = [
            *await examine_tables(clients.dynamodb, "seen-", time.time, 900),
            *await examine_queue(clients.sqs, "seen-jobs", None, "TIPTRACE_QUEUE_URL"),
            *await examine_bucket(clients.s3, "seen-movies", "p", origin="https://lab.example", for_browsers=True),
        ]
    assert operator.refused == set()
    assert {finding.verdict for finding in found} == {"well"}


async def test_the_doctor_names_every_call_that_was_refused(emulator: Emulator) -> None:
    """In the web service's role, which may not look at backups or the bucket's rules."""
    async with open_clients(emulator.endpoint) as clients:
        await make_data_stack(clients, "dim-", "dim-movies", "https://lab.example")
        web = role("WebRole", "dim-", "dim-movies")
        web.worn_by(clients.dynamodb, clients.s3, clients.sqs)
        tables = await examine_tables(clients.dynamodb, "dim-", time.time, 900)
        queue = await examine_queue(clients.sqs, "dim-jobs", None, "TIPTRACE_QUEUE_URL")
        bucket = await examine_bucket(clients.s3, "dim-movies", "p", origin="https://lab.example", for_browsers=True)
    said = [f"{finding.said} {finding.todo}" for finding in (*tables, *queue, *bucket)]
    assert "dynamodb:DescribeTable on dim-users was refused. Allow dynamodb:DescribeTable on dim-users" in " ".join(
        said
    )
    assert "sqs:GetQueueUrl on dim-jobs-dead was refused." in " ".join(said)
    assert "s3:GetBucketCORS on dim-movies was refused." in " ".join(said)
    assert "s3:DeleteObject on dim-movies/uploads/doctor/p was refused." in " ".join(said)
    assert not any(finding.verdict == "well" and finding.part != "clock" for finding in (*tables, *queue, *bucket))
