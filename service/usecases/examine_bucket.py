"""Ask S3 about the bucket, and write, read and delete a small object in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from service.domain.finding import Finding, all_well, fault, well
from service.store.questions import NotThere, Unanswered, ask
from service.usecases.judge_deployment import MAKE, judge_cors, judge_lifecycle, judge_privacy

_PART = "bucket"
_PROBE = b"Written by `tiptrace admin doctor`; may be deleted."


async def examine_bucket(
    client: Any, bucket: str, probe: str, *, origin: str | None, for_browsers: bool
) -> list[Finding]:
    """Is it there, does it keep what it is given, and, with `for_browsers`, may browsers and nobody else come to it?

    `probe`: a name for the object that is written under `uploads/doctor/`. `origin`: of the service's pages.
    """
    try:
        if not await _told(client, bucket, "s3:ListBucket", client.head_bucket):
            return [fault(_PART, f"There is no bucket {bucket}.", MAKE)]
    except Unanswered as unanswered:
        return [unanswered.finding]
    found = await _tried(client, bucket, f"uploads/doctor/{probe}")
    if for_browsers:
        found += await _asked(client, bucket, origin)
    if all_well(found):
        shut = f", is shut to the public, and open to pages of {origin or 'any origin'}" if for_browsers else ""
        found.insert(0, well(_PART, f"The bucket {bucket} keeps and gives back objects{shut}."))
    return found


async def _asked(client: Any, bucket: str, origin: str | None) -> list[Finding]:
    """Privacy, rules for pages, and what is deleted by itself."""
    looks: list[tuple[str, Any, str, Callable[[Any], list[Finding]]]] = [
        (
            "s3:GetBucketPublicAccessBlock",
            client.get_public_access_block,
            "PublicAccessBlockConfiguration",
            lambda block: judge_privacy(bucket, block or {}),
        ),
        (
            "s3:GetBucketCORS",
            client.get_bucket_cors,
            "CORSRules",
            lambda rules: judge_cors(bucket, rules or (), origin),
        ),
        (
            "s3:GetLifecycleConfiguration",
            client.get_bucket_lifecycle_configuration,
            "Rules",
            lambda rules: judge_lifecycle(bucket, rules or ()),
        ),
    ]
    found: list[Finding] = []
    for action, call, name, judged in looks:
        try:
            found += judged(((await _told(client, bucket, action, call)) or {}).get(name))
        except Unanswered as unanswered:
            found.append(unanswered.finding)
    return found


async def _tried(client: Any, bucket: str, key: str) -> list[Finding]:
    """One small object, there and back. Whatever was written is deleted, also if it could not be read."""
    found: list[Finding] = []
    try:
        await _told(client, bucket, "s3:PutObject", client.put_object, key, Body=_PROBE)
    except Unanswered as unanswered:
        return [unanswered.finding]
    try:
        reply = await _told(client, bucket, "s3:GetObject", client.get_object, key)
        if not reply or await _body(reply) != _PROBE:
            found.append(
                fault(_PART, f"{bucket} gave back something else than was put in.", "Do not use this storage.")
            )
    except Unanswered as unanswered:
        found.append(unanswered.finding)
    try:
        await _told(client, bucket, "s3:DeleteObject", client.delete_object, key)
    except Unanswered as unanswered:
        found.append(unanswered.finding)
    return found


async def _body(reply: Any) -> bytes:
    async with reply["Body"] as body:
        content: bytes = await body.read()
    return content


async def _told(client: Any, bucket: str, action: str, call: Any, key: str = "", **request: Any) -> Any:
    """The reply, None if there is no such thing. Raises Unanswered."""
    what = f"{bucket}/{key}" if key else bucket
    if key:
        request["Key"] = key
    try:
        return await ask(_PART, action, what, call, Bucket=bucket, **request)
    except NotThere:
        return None
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        raise Unanswered(fault(_PART, f"{action} on {what} failed ({code}).", "Look at TIPTRACE_BUCKET.")) from None
