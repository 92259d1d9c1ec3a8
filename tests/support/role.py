"""A role of deploy/cloudformation/access.yaml, worn by a client: what the role does not allow is refused, as on AWS.

The refusal comes in where botocore is about to send the request, so the code under test sees the error of the real
service. Signed links and forms are no calls; `allows` tells what they would be good for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.stack import ACCOUNT, PSEUDO, REGION, resolved, resources

_S3 = {  # what IAM calls what these calls need; the others have the call's own name
    "HeadBucket": ["ListBucket"],
    "ListObjectsV2": ["ListBucket"],
    "HeadObject": ["GetObject"],
    "GetBucketCors": ["GetBucketCORS"],
    "GetPublicAccessBlock": ["GetBucketPublicAccessBlock"],
    "GetBucketLifecycleConfiguration": ["GetLifecycleConfiguration"],
}
_WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


@dataclass
class Role:
    """`used`: the allowed calls that were made, as (action, resource). `refused`: the others."""

    name: str
    statements: list[tuple[list[str], list[str]]]
    used: set[tuple[str, str]] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)

    def allows(self, action: str, resource: str) -> bool:
        return any(
            any(_like(one, action) for one in actions) and any(_like(one, resource) for one in places)
            for actions, places in self.statements
        )

    def worn_by(self, *clients: Any) -> None:
        """From now on these clients may do what the role allows."""
        for client in clients:
            client.meta.events.register("provide-client-params.*.*", self._remember, unique_id=f"role-{self.name}")
            client.meta.events.register("before-call.*.*", self._judge, unique_id=f"role-{self.name}-judge")

    def _remember(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        context["needs"] = set(needs(model.service_model.service_name, model.name, params))

    def _judge(self, model: Any, context: dict[str, Any], **_: Any) -> tuple[Any, dict[str, Any]] | None:
        needed: set[tuple[str, str]] = context.get("needs", set())
        lacking = {one for one in needed if not self.allows(*one)}
        self.refused |= lacking
        self.used |= needed - lacking
        if not lacking:
            return None
        code = "AccessDenied" if model.service_model.service_name == "s3" else "AccessDeniedException"
        return _Refusal(), {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}}}


class _Refusal:
    """Stands in for the answer over HTTP."""

    status_code = 400


def role(name: str, prefix: str, bucket: str) -> Role:
    """`WebRole`, `WorkerRole` or `OperatorRole`, for a deployment with these parameters."""
    known = {**PSEUDO, "Prefix": prefix, "BucketName": bucket}
    properties = resolved(resources("access", "AWS::IAM::Role")[name], known)
    statements = [one for policy in properties["Policies"] for one in policy["PolicyDocument"]["Statement"]]
    assert all(one["Effect"] == "Allow" and "Condition" not in one for one in statements)
    return Role(name, [(_listed(one["Action"]), _listed(one["Resource"])) for one in statements])


def needs(service: str, call: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a role must allow for one call: pairs of action and resource."""
    if service == "dynamodb":
        yield from _of_the_database(call, params)
    elif service == "sqs":
        name = params.get("QueueName") or params["QueueUrl"].rpartition("/")[2]
        yield f"sqs:{call}", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
    else:
        place = f"arn:aws:s3:::{params['Bucket']}" + (f"/{params['Key']}" if "Key" in params else "")
        if call == "CopyObject":
            yield "s3:GetObject", f"arn:aws:s3:::{params['CopySource']['Bucket']}/{params['CopySource']['Key']}"
            yield "s3:PutObject", place
            return
        for action in _S3.get(call, [call]):
            yield f"s3:{action}", place


def _of_the_database(call: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if call == "TransactWriteItems":
        for item in params["TransactItems"]:
            for verb, write in item.items():
                yield f"dynamodb:{_WRITES[verb]}", _table(write["TableName"])
    elif call == "BatchGetItem":
        for name in params["RequestItems"]:
            yield "dynamodb:BatchGetItem", _table(name)
    else:
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        yield f"dynamodb:{call}", _table(params["TableName"]) + index


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def _listed(one_or_more: str | Iterable[str]) -> list[str]:
    return [one_or_more] if isinstance(one_or_more, str) else list(one_or_more)


def _like(pattern: str, value: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), value) is not None
