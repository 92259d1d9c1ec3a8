"""Movies and results in S3: durable keys, signed forms and links, streamed both ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.parsers import ResponseParserError

from service.domain.errors import StoreUnavailable
from service.store.cors import FOR_BROWSERS, missing

SIGNED_SECONDS = 3600
_PIECE = 1 << 18
_TRIES = 4
# An answer that is no XML is not the storage's; botocore has a class of its own for that, outside of its tree.
_BROKEN = (ClientError, BotoCoreError, HTTPClientError, ResponseParserError, OSError, aiohttp.ClientError)
_ANYWHERE = "us-east-1"
"""The region whose buckets are made without a word about the region; there it would be refused."""


class Front(Protocol):
    """Hands objects out and takes them in under addresses of its own, where the storage itself cannot be reached."""

    def link(self, key: str, disposition: str | None, seconds: int) -> str: ...

    def form(self, key: str, length: int, seconds: int) -> dict[str, Any]: ...


class ObjectMissing(Exception):
    """There is no object under this key."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it stands: its length in bytes and the tag of this very content."""

    key: str
    length: int
    etag: str


class Objects:
    """One bucket. Keys are `uploads/<movie>/...` until an inspection, `movies/<movie>/...` afterwards."""

    def __init__(self, client: Any, bucket: str, first_pause: float = 0.1, front: Front | None = None) -> None:
        """`first_pause`: seconds before the first repetition; each later pause is twice as long.

        With a `front` links and forms lead there, as paths below the web service's address.
        """
        self.client = client
        self.bucket = bucket
        self.first_pause = first_pause
        self.front = front

    def urn(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    def key_of(self, urn: str) -> str:
        """The key inside this bucket that a stored URN names."""
        prefix = f"s3://{self.bucket}/"
        if not urn.startswith(prefix):
            raise ObjectMissing
        return urn[len(prefix) :]

    async def ensure_bucket(self, origin: str | None = None) -> bool:
        """Make the bucket and let browsers use signed forms and links. True if it was made now.

        It is made in the client's region. Rules that others gave the bucket stay, and are left alone if they let pages
        of `origin` (None: of any) do what ours need.
        """
        made = False
        try:
            await self.client.head_bucket(Bucket=self.bucket)
        except ClientError:
            await self.client.create_bucket(Bucket=self.bucket, **_place_of(self.client.meta.region_name))
            made = True
        rules = [] if made else await self._rules_for_browsers()
        if missing(rules, origin):
            await self.client.put_bucket_cors(
                Bucket=self.bucket, CORSConfiguration={"CORSRules": [*rules, FOR_BROWSERS]}
            )
        return made

    async def _rules_for_browsers(self) -> list[dict[str, Any]]:
        try:
            rules: list[dict[str, Any]] = (await self.client.get_bucket_cors(Bucket=self.bucket))["CORSRules"]
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "NoSuchCORSConfiguration":
                raise
            return []
        return rules

    async def upload_form(self, key: str, length: int, seconds: int = SIGNED_SECONDS) -> dict[str, Any]:
        """A presigned POST {url, fields} that takes exactly `length` bytes under `key` and nothing else."""
        if self.front:
            return self.front.form(key, length, seconds)
        form: dict[str, Any] = await self.client.generate_presigned_post(
            Bucket=self.bucket,
            Key=key,
            Fields={"Content-Type": "application/octet-stream"},
            Conditions=[
                {"Content-Type": "application/octet-stream"},
                ["content-length-range", length, length],
            ],
            ExpiresIn=seconds,
        )
        return form

    async def link(self, key: str, *, disposition: str | None = None, seconds: int = SIGNED_SECONDS) -> str:
        """A signed GET link. With `disposition` (a Content-Disposition) a browser saves the object."""
        if self.front:
            return self.front.link(key, disposition, seconds)
        parameters: dict[str, Any] = {"Bucket": self.bucket, "Key": key}
        if disposition:
            parameters["ResponseContentDisposition"] = disposition
        url: str = await self.client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        return url

    async def head(self, key: str) -> Stored | None:
        try:
            reply = await self._call(self.client.head_object, Bucket=self.bucket, Key=key)
        except ObjectMissing:
            return None
        return Stored(key, int(reply["ContentLength"]), reply["ETag"])

    async def copy(self, source: Stored, key: str) -> None:
        """Copy this very content: if the source was replaced meanwhile, ObjectMissing is raised."""
        await self._call(
            self.client.copy_object,
            Bucket=self.bucket,
            Key=key,
            CopySource={"Bucket": self.bucket, "Key": source.key},
            CopySourceIfMatch=source.etag,
        )

    async def opened(self, key: str, span: str | None = None) -> dict[str, Any]:
        """GetObject's reply, its body unread; `span` is a Range header's value.

        Raises ObjectMissing, StoreUnavailable, and ClientError with status 416 for a span that lies behind the end.
        """
        spanned = {"Range": span} if span else {}
        reply: dict[str, Any] = await self._call(self.client.get_object, Bucket=self.bucket, Key=key, **spanned)
        return reply

    async def get(self, key: str) -> bytes:
        """A small object, whole."""
        whole: bytes = await self._call(self._whole, Bucket=self.bucket, Key=key)
        return whole

    async def read(self, key: str, first: int, last: int) -> bytes:
        """Bytes `first` to `last`, inclusive."""
        part: bytes = await self._call(self._whole, Bucket=self.bucket, Key=key, Range=f"bytes={first}-{last}")
        return part

    async def _whole(self, **request: Any) -> Any:
        reply = await self.client.get_object(**request)
        async with reply["Body"] as body:
            return await body.read()

    async def download(self, key: str) -> AsyncIterator[bytes]:
        """An object in pieces of 256 KiB at most. A stream that breaks goes on where it was, if the object is the same.

        Raises ObjectMissing (also if the object was replaced meanwhile), StoreUnavailable.
        """
        request: dict[str, Any] = {"Bucket": self.bucket, "Key": key}
        offset = tried = 0
        while True:
            reply = await self._call(self.client.get_object, **request)
            try:
                async with reply["Body"] as body:
                    async for piece in body.content.iter_chunked(_PIECE):
                        offset, tried = offset + len(piece), 0
                        yield piece
                return
            except _BROKEN as error:
                await self._pause_or_raise(error, tried)
                tried += 1
            request |= {"IfMatch": reply["ETag"], "Range": f"bytes={offset}-"}

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        await self._call(self.client.put_object, Bucket=self.bucket, Key=key, Body=data, ContentType=content_type)

    async def upload(self, key: str, path: Path, content_type: str) -> int:
        """A file, streamed in one request; returns its length in bytes."""
        length = path.stat().st_size
        for attempt in range(_TRIES):
            with path.open("rb") as body:
                try:
                    await self.client.put_object(
                        Bucket=self.bucket, Key=key, Body=body, ContentType=content_type, ContentLength=length
                    )
                    return length
                except _BROKEN as error:
                    await self._pause_or_raise(error, attempt)
        raise AssertionError("unreachable")

    async def delete(self, *keys: str) -> None:
        """Absence is success, and a failure to delete costs only storage: a lifecycle rule takes orphans."""
        for key in keys:
            with suppress(*_BROKEN):
                await self.client.delete_object(Bucket=self.bucket, Key=key)

    async def keys(self, prefix: str, page: int = 1000) -> list[str]:
        """Every key that begins so, asked for `page` at a time; the storage tells a thousand at most."""
        found: list[str] = []
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": page}
        while True:
            reply = await self._call(self.client.list_objects_v2, **request)
            found += [entry["Key"] for entry in reply.get("Contents", [])]
            if not reply.get("IsTruncated"):
                return found
            request["ContinuationToken"] = reply["NextContinuationToken"]

    async def _call(self, call: Any, **request: Any) -> Any:
        for attempt in range(_TRIES):
            try:
                return await call(**request)
            except _BROKEN as error:
                await self._pause_or_raise(error, attempt)
        raise AssertionError("unreachable")

    async def _pause_or_raise(self, error: Exception, attempt: int) -> None:
        """Every request here can be repeated without harm; what is missing stays missing."""
        if isinstance(error, ClientError):
            code = error.response.get("Error", {}).get("Code", "")
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if code in ("NoSuchKey", "404", "NotFound", "PreconditionFailed", "412"):
                raise ObjectMissing from None
            if status < 500 and code not in ("SlowDown", "RequestTimeout"):
                raise error
        if attempt == _TRIES - 1:
            raise StoreUnavailable from None
        await asyncio.sleep(self.first_pause * 2**attempt)


def _place_of(region: str) -> dict[str, Any]:
    return {} if region == _ANYWHERE else {"CreateBucketConfiguration": {"LocationConstraint": region}}
