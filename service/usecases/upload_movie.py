"""From a file on a person's computer to an inspection job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.domain.access import Actor, check_edit
from service.domain.audit import EventType
from service.domain.errors import Conflict, EditedMeanwhile, InvalidParameter, KeyReused, OutcomeUnknown
from service.domain.failures import RETRYABLE
from service.domain.job import PLAN_VERSION
from service.domain.movie import UNUSABLE, UPLOADING, Movie
from service.domain.receipt import UNSAID, Intent, Receipt, Sender, input_digest, receipt_id
from service.store import conditions as when
from service.store.objects import Stored
from service.store.stores import Stores
from service.store.table import TransactionRefused, Write
from service.usecases.start_job import accepted_receipt, announce, queued_lease, start_event

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class UploadMissing(Conflict):
    """The file has not arrived yet. Upload it, then try again."""

    code = "upload_missing"


@dataclass(frozen=True, slots=True)
class NewMovie:
    """What a person announces. `sha256` and `length` are of the file that will come; `details` go onto the row."""

    title: str
    sha256: str
    length: int
    request_key: str
    sent: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    sender: Sender = UNSAID


@dataclass(frozen=True, slots=True)
class Announced:
    """The movie's row is there and waits for the file; `form` takes exactly that file's length.

    `replayed` if it was there before, `retired` if its key had been used long ago.
    """

    movie_id: str
    form: Mapping[str, Any]
    request_key: str
    replayed: bool
    created_at: int
    retired: bool = False


def upload_key(movie_id: str) -> str:
    return f"uploads/{movie_id}/movie"


async def new_movie(stores: Stores, actor: Actor, order: NewMovie) -> Announced:
    """Make a movie that waits for its file, and a signed form for it. The same key gets the same movie, a fresh form.

    Raises InvalidParameter, KeyReused, Unavailable.
    """
    if not _SHA256.fullmatch(order.sha256):
        raise InvalidParameter("movie_data_sha256", "must be 64 hexadecimal digits, lower case")
    if not 1 <= order.length <= stores.policy.max_upload_bytes:
        raise InvalidParameter(
            "movie_data_length", f"must be between 1 and {stores.policy.max_upload_bytes} bytes; is the file too large?"
        )
    if not actor.course_id:
        raise InvalidParameter("course_id", "you belong to no course yet; ask your teacher for the course key")
    digest = input_digest(order.sent)
    key_id = receipt_id(actor.user_id, order.request_key)
    for _ in range(3):
        now = stores.clock.now()
        existing = await stores.receipts.get(key_id)
        if existing and not existing.retired(now):
            if existing.input_digest != digest:
                raise KeyReused
            return await _announced(stores, existing, order, replayed=True)
        movie_id = stores.ids.movie_id()
        receipt = accepted_receipt(
            stores,
            actor,
            "inspect",
            order.request_key,
            digest,
            movie_id,
            now,
            order.sender,
        )
        row = {
            **order.details,
            "movie_id": movie_id,
            "user_id": actor.user_id,
            "user_name": actor.name,
            "course_id": actor.course_id,
            "title": order.title,
            "movie_data_sha256": order.sha256,
            "movie_data_length": order.length,
            "upload_receipt_id": key_id,
            "published": False,
            "deleted": False,
            "rotation": 0,
        }
        try:
            await stores.transact([stores.receipts.admit_write(receipt, now), stores.movies.new_write(row, now)])
        except TransactionRefused:
            continue
        except OutcomeUnknown:
            made = await stores.receipts.get(key_id)
            if made is None or made.job_id != receipt.job_id:
                raise
        return await _announced(stores, receipt, order, replayed=False, retired=existing is not None)
    raise EditedMeanwhile


async def _announced(
    stores: Stores, receipt: Receipt, order: NewMovie, *, replayed: bool, retired: bool = False
) -> Announced:
    form = await stores.objects.upload_form(upload_key(receipt.movie_id), order.length)
    return Announced(receipt.movie_id, form, receipt.request_key, replayed, receipt.created_at, retired)


async def process_upload(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    *,
    course_id: str | None = None,
    ipaddr: str | None = None,
    sender: Sender = UNSAID,
) -> Movie:
    """Admit the inspection of a file that has arrived. Repeating it is harmless: an admitted one is left alone.

    Raises MovieNotFound, NoRight, UploadMissing, Unavailable.
    """
    for _ in range(4):
        movie = check_edit(actor, await stores.movies.get(movie_id), course_id)
        again = movie.status == UNUSABLE and movie.row.get("failure_code") in RETRYABLE
        if movie.deleted or movie.tracing or not (movie.status == UPLOADING or again):
            return movie
        found = await stores.objects.head(_source_key(stores, movie))
        if found is None:
            raise UploadMissing
        if await _inspection_admitted(stores, actor, movie, found, again, ipaddr, sender):
            return await stores.movies.get(movie_id) or movie
    raise EditedMeanwhile


def _source_key(stores: Stores, movie: Movie) -> str:
    """Where the file lies: with the upload, or, if an inspection once took it over, under its durable key."""
    urn = movie.row.get("movie_data_urn")
    return stores.objects.key_of(urn) if urn else upload_key(movie.movie_id)


def inspection_inputs(movie: Movie, source: Stored) -> dict[str, Any]:
    """What an inspection needs to know: this very object, what it must be, how it is to be turned."""
    return {
        "source": {"key": source.key, "etag": source.etag, "length": source.length},
        "length": int(movie.row.get("movie_data_length") or 0),
        "sha256": movie.row.get("movie_data_sha256", ""),
        "rotation": movie.rotation,
        "plan_version": PLAN_VERSION,
    }


async def _inspection_admitted(
    stores: Stores, actor: Actor, movie: Movie, found: Stored, again: bool, ipaddr: str | None, sender: Sender
) -> bool:
    now = stores.clock.now()
    inputs = inspection_inputs(movie, found)
    receipt = None if again else await stores.receipts.get(movie.row.get("upload_receipt_id", ""))
    fresh = receipt is None or receipt.state != "accepted"
    if receipt is None or fresh:
        receipt = inspection_receipt(stores, actor, movie, inputs, now, sender)
        noted: Write = stores.receipts.admit_write(receipt, now)
    else:
        noted = stores.receipts.resolved_write(receipt, inputs, now, sender.request_id)
    job = queued_lease(stores, actor, receipt, "inspect", now)
    happened: EventType = "movie.inspection.started" if again else "movie.upload.completed"
    arrived = start_event(stores, actor, movie, receipt, happened, now, ipaddr=ipaddr)
    started = stores.movies.start_write(movie, job, now, when.inspection_may_start(now), ())
    try:
        await stores.transact([started, noted, arrived])
    except TransactionRefused:
        return False
    except OutcomeUnknown:
        row = await stores.movies.get(movie.movie_id)
        if not (row and row.tracing and row.tracing.job_id == receipt.job_id):
            raise
    await announce(stores, movie, receipt, "inspect", sender)
    return True


def inspection_receipt(
    stores: Stores,
    actor: Actor,
    movie: Movie,
    inputs: Mapping[str, Any],
    now: int,
    sender: Sender,
    intent: Intent | None = None,
) -> Receipt:
    """The receipt of an inspection that follows an earlier one, under the client's key or one of the server's own."""
    again = {"movie_id": movie.movie_id, "again": True, "rotation": inputs["rotation"]}
    named = intent or Intent(actor.user_id, stores.ids.token(), again)
    return accepted_receipt(
        stores, actor, "inspect", named.request_key, named.digest, movie.movie_id, now, sender, inputs
    )
