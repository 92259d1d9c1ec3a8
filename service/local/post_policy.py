"""The check of a presigned POST that S3 makes and the emulator does not: signature, expiry, every field by its policy.

Without it a form signed for one key and length would be taken for any, and tests against the emulator would not notice.
The length itself (content-length-range) the emulator checks. Source of the rules: the Amazon S3 API reference,
"Browser-based uploads using POST (Signature Version 4)".
"""

import base64
import hashlib
import hmac
import json
import re
from datetime import datetime
from typing import Any

FREE_FIELDS = frozenset({"policy", "x-amz-signature", "bucket"})
_NAME = re.compile(rb'[; ]name="([^"]*)"', re.IGNORECASE)
_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')


def refusal(body: bytes, content_type: str, bucket: str, secret: str, now: float) -> str | None:
    """Why S3 would refuse this form, or None. `now` is in epoch seconds, `secret` the key it must be signed with."""
    boundary = _BOUNDARY.search(content_type)
    fields = _fields(body, b"--" + boundary[1].encode("latin-1")) if boundary else None
    if fields is None:
        return "The form is not whole: the file must be its last field."
    try:
        signature = _signature(fields["policy"], fields["x-amz-credential"], secret)
        if not hmac.compare_digest(signature, fields["x-amz-signature"]):
            return "The signature does not match."
        policy: dict[str, Any] = json.loads(base64.b64decode(fields["policy"]))
        if datetime.fromisoformat(policy["expiration"]).timestamp() <= now:
            return "The policy has expired."
        return _unmet(policy["conditions"], {**fields, "bucket": bucket})
    except (KeyError, ValueError, TypeError):
        return "The form is not signed (version 4), or its policy cannot be read."


def _fields(body: bytes, delimiter: bytes) -> dict[str, str] | None:
    """The fields before the file, names in lower case. None if no file ends the form."""
    fields: dict[str, str] = {}
    start = body.find(delimiter)
    while start >= 0:
        start += len(delimiter)
        end = body.find(delimiter, start)
        head_end = body.find(b"\r\n\r\n", start)
        name = _NAME.search(body, start, max(head_end, start))
        if end < 0 or not name:
            return None
        if name[1] == b"file":
            return fields if end == body.rfind(delimiter) else None
        fields[name[1].decode("utf-8", "replace").lower()] = body[head_end + 4 : end - 2].decode("utf-8", "replace")
        start = end
    return None


def _signature(policy: str, credential: str, secret: str) -> str:
    """Signature version 4 over the policy. The credential is key id/date/region/service/aws4_request."""
    key = b"AWS4" + secret.encode("utf-8")
    for part in credential.split("/")[1:]:
        key = hmac.digest(key, part.encode("utf-8"), "sha256")
    return hmac.new(key, policy.encode("utf-8"), hashlib.sha256).hexdigest()


def _unmet(conditions: list[Any], fields: dict[str, str]) -> str | None:
    """The first condition that the fields break, or the first field that no condition allows."""
    allowed = set(FREE_FIELDS)
    for condition in conditions:
        if isinstance(condition, dict):
            ((name, wanted),) = condition.items()
            rule = "eq"
        elif condition[0] == "content-length-range":
            continue
        else:
            rule, name, wanted = condition
        name = name.removeprefix("$").lower()
        allowed.add(name)
        value = fields.get(name, "")
        if not (value.startswith(wanted) if rule == "starts-with" else value == wanted):
            return f"The policy asks for another {name}."
    extra = [name for name in fields if name not in allowed and not name.startswith("x-ignore-")]
    return f"The policy does not allow the field {extra[0]}." if extra else None
