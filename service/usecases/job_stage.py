"""The stages that every job goes through: counted, timed, and with outputs under names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from service import metrics
from service.domain.job import Done
from service.store.stores import Stores
from service.usecases.job_lease import JobLease

_CONTENT = {
    "archive": ("frames.zip", "application/zip"),
    "first_frame": ("first.jpeg", "image/jpeg"),
    "labelled": ("traced.mp4", "video/mp4"),
}


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count and time one stage of a job. Stages that are repeated overwrite their own output and no other."""
    metrics.ATTEMPTS.labels(stage=name).inc()
    with metrics.STAGE_SECONDS.labels(stage=name).time():
        yield


async def store_files(stores: Stores, lease: JobLease, done: Done) -> dict[str, str]:
    """Artifacts under names that carry the job's id; returns their URNs by class."""
    urns = {}
    for kind, path in done.files.items():
        name, content_type = _CONTENT[kind]
        key = f"movies/{lease.movie.movie_id}/{lease.job.job_id}/{name}"
        with stage("store"):
            length = await stores.objects.upload(key, path, content_type)
        metrics.ARTIFACT_BYTES.labels(artifact=kind).inc(length)
        urns[kind] = stores.objects.urn(key)
    return urns
