"""Questions put to AWS by whoever looks at a deployment: an answer, or a finding that says why there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)

from service.domain.finding import Finding, advice, fault

_REFUSED = frozenset({"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"})
_STRANGER = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_MISSING = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchBucket",
        "NoSuchCORSConfiguration",
        "NoSuchLifecycleConfiguration",
        "NoSuchPublicAccessBlockConfiguration",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
        "TableNotFoundException",
    }
)
_NOT_OFFERED = frozenset({"InvalidAction", "MethodNotAllowed", "NotImplemented", "UnknownOperationException"})
_ELSEWHERE = frozenset({"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"})


class Unanswered(Exception):
    """Nobody answered, or the answer was a refusal. `finding` says so to a person.

    `date`: the header of that name, if there was an answer. A wrong clock is a reason to be refused.
    """

    def __init__(self, finding: Finding, date: str | None = None) -> None:
        super().__init__(finding.said)
        self.finding = finding
        self.date = date


class NotThere(Exception):
    """What was asked for does not exist."""


async def ask(part: str, action: str, what: str, call: Callable[..., Awaitable[Any]], **request: Any) -> Any:
    """The reply to one call.

    `part`: of the deployment. `action`: what a role must allow for it, as IAM names it. `what`: table, queue or bucket.

    Raises Unanswered, NotThere, and ClientError for a refusal that is an answer, such as a condition that did not hold.
    No message of AWS is passed on: it may name accounts and keys.
    """
    try:
        return await call(**request)
    except ClientError as error:
        _tell_refusal(part, action, what, error)
        raise
    except (NoCredentialsError, PartialCredentialsError):
        said = "There are no AWS credentials."
        raise Unanswered(
            fault("access", said, "Give this process a role, or set AWS_PROFILE or AWS_ACCESS_KEY_ID.")
        ) from None
    except (BotoCoreError, HTTPClientError, OSError) as error:
        said = f"{action} on {what} got no answer ({type(error).__name__})."
        todo = "Look at AWS_REGION, at AWS_ENDPOINT_URL_... if it is set, and at the way through the network."
        raise Unanswered(fault(part, said, todo)) from None


def _tell_refusal(part: str, action: str, what: str, error: ClientError) -> None:
    """Raise what the refusal means; return if it means nothing of that sort."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    if code in _REFUSED or code == "403":
        said = f"{action} on {what} was refused."
        raise Unanswered(fault(part, said, f"Allow {action} on {what} to the role that ran this.")) from None
    if code in _STRANGER:
        said = f"AWS does not know these credentials ({code})."
        todo = "Look at the credentials' end, and at this machine's clock: signatures are good for five minutes."
        raise Unanswered(fault("access", said, todo), headers.get("date")) from None
    if code in _MISSING or code == "404":
        raise NotThere from None
    if code in _ELSEWHERE or status == 301:
        region = headers.get("x-amz-bucket-region")
        said = f"{what} lies in {f'the region {region}' if region else 'another region'}."
        raise Unanswered(fault(part, said, "Set AWS_REGION to that region, or take a bucket of this one.")) from None
    if code in _NOT_OFFERED or status in (405, 501):
        said = f"This server does not offer {action}."
        raise Unanswered(advice(part, said, f"See for yourself what it would say of {what}.")) from None
    if status >= 500 or "Throttl" in code:
        said = f"{action} on {what} failed ({code or status})."
        raise Unanswered(fault(part, said, "Try again in a minute.")) from None
