"""Ask for a trace, stop one, look at what became of it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from service.domain.errors import ReceiptNotFound
from service.domain.receipt import Receipt, Sender, checked_key, receipt_id
from service.usecases.cancel_trace import cancel
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from service.web import intent
from service.web.auth import caller
from service.web.context import stores
from service.web.render import said
from service.web.schemas import Cancel, ReceiptOf, Trace, parsed

tracing = Blueprint("tracing", __name__)


@tracing.post("/resize-api/v1/trace-movie")
async def trace_movie() -> Response:
    """202 for a new job, 200 with `Idempotent-Replay: true` for one that this key already started."""
    actor, asked = await caller(), parsed(Trace)
    key, sender = intent.request_key(), intent.sender()
    order = TraceOrder(
        movie_id=asked.movie_id,
        request_key=key,
        sent=intent.sent(),
        frame_start=asked.frame_start,
        frame_end=asked.frame_end,
        analysis_lease_id=asked.analysis_lease_id,
        keep_placed=asked.keep_placed,
        options=asked.options,
        course_id=asked.course_id,
        sender=sender,
        ipaddr=request.remote_addr,
    )
    with intent.counted(sender), intent.refusals("tracing"):
        submitted = await submit(stores(), actor, order)
    _count(submitted, sender)
    receipt = submitted.receipt
    return said(
        200 if submitted.replayed else 202,
        {"Idempotent-Replay": "true"} if submitted.replayed else {},
        message={
            "movie_id": receipt.movie_id,
            "frame_start": receipt.inputs.get("frame_start"),
            "frame_end": receipt.inputs.get("frame_end"),
            "job_id": receipt.job_id,
        },
        request_key=key,
        job_id=receipt.job_id,
        state=receipt.state,
        replayed=submitted.replayed,
        retired=submitted.retired,
    )


def _count(submitted: Submitted, sender: Sender) -> None:
    if submitted.replayed:
        intent.repeated(sender, submitted.receipt.created_at)
    else:
        intent.accepted("trace", sender, retired=submitted.retired)


@tracing.post("/resize-api/v1/cancel-trace")
async def cancel_trace() -> Response:
    actor, asked = await caller(), parsed(Cancel)
    movie = await cancel(stores(), actor, asked.movie_id, job_id=asked.job_id, course_id=asked.course_id)
    job_id = movie.tracing.job_id if movie.tracing else asked.job_id
    return said(movie_id=movie.movie_id, job_id=job_id, cancelled=True)


@tracing.get("/api/get-receipt")
async def get_receipt() -> Response:
    """The caller's own receipt: keys are scoped to the user, so nobody finds another's."""
    actor, asked = await caller(), parsed(ReceiptOf)
    now = stores().clock.now()
    receipt = await stores().receipts.get(receipt_id(actor.user_id, checked_key(asked.request_key)))
    if receipt is None or receipt.retired(now):
        raise ReceiptNotFound
    return said(**shown_receipt(receipt))


def shown_receipt(receipt: Receipt) -> dict[str, Any]:
    told: dict[str, Any] = {
        "request_key": receipt.request_key,
        "kind": receipt.kind,
        "job_id": receipt.job_id,
        "state": receipt.state,
        "movie_id": receipt.movie_id,
        "created_at": receipt.created_at,
        "updated_at": receipt.updated_at,
        "attempts": receipt.attempts,
    }
    if receipt.result is not None:
        told["result"] = receipt.result
    if receipt.failure_code is not None:
        told["failure"] = {"code": receipt.failure_code, "summary": receipt.failure_summary}
    return told
