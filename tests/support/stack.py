"""The templates of deploy/cloudformation as CloudFormation understands them, and the data stack made of them.

The stack's tables, queues and bucket are made by the calls that CloudFormation makes for these properties, all of them:
emulators of CloudFormation itself leave a bucket's rules, backups and redrive policies out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfnlint.decode import decode

from service.runtime import Clients

FOLDER = Path(__file__).parents[2] / "deploy" / "cloudformation"
ACCOUNT, REGION = "000000000000", "us-east-1"
PSEUDO = {"AWS::AccountId": ACCOUNT, "AWS::Region": REGION, "AWS::Partition": "aws", "AWS::StackName": "stack"}


def template(name: str) -> dict[str, Any]:
    """A template's content, its short functions written out (`!Ref x` as {"Ref": "x"})."""
    read, faults = decode(str(FOLDER / f"{name}.yaml"))
    assert read is not None, faults
    plain: dict[str, Any] = json.loads(json.dumps(read))
    return plain


def resolved(value: Any, known: Mapping[str, Any]) -> Any:
    """`value` with every Ref, Sub and GetAtt replaced by what is `known` under its name."""
    if isinstance(value, list):
        return [resolved(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"}:
        return known[value["Ref"]]
    if set(value) == {"Fn::GetAtt"}:
        return known[".".join(value["Fn::GetAtt"])]
    if set(value) == {"Fn::Sub"}:
        return re.sub(r"\$\{([^}]+)\}", lambda name: str(known[name[1]]), value["Fn::Sub"])
    return {name: resolved(one, known) for name, one in value.items()}


def resources(name: str, kind: str) -> dict[str, dict[str, Any]]:
    """The properties of the resources of one kind, by their names in the template."""
    found = template(name)["Resources"]
    return {key: one["Properties"] for key, one in found.items() if one["Type"] == kind}


async def make_data_stack(clients: Clients, prefix: str, bucket: str, public_url: str) -> None:
    """Everything in data.yaml with these parameters."""
    known = {**PSEUDO, "Prefix": prefix, "BucketName": bucket, "PublicUrl": public_url}
    for properties in resources("data", "AWS::DynamoDB::Table").values():
        await _make_table(clients.dynamodb, resolved(properties, known))
    waiting = resources("data", "AWS::SQS::Queue")
    for key in sorted(waiting, key=lambda key: "RedrivePolicy" in waiting[key]):  # the one it leads to comes first
        known[f"{key}.Arn"] = await _make_queue(clients.sqs, resolved(waiting[key], known))
    (properties,) = resources("data", "AWS::S3::Bucket").values()
    await _make_bucket(clients.s3, resolved(properties, known))


async def _make_table(client: Any, properties: dict[str, Any]) -> None:
    recovery = properties.pop("PointInTimeRecoverySpecification")
    ends = properties.pop("TimeToLiveSpecification", None)
    await client.create_table(**properties)
    name = properties["TableName"]
    await client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)
    if ends:
        await client.update_time_to_live(TableName=name, TimeToLiveSpecification=ends)


async def _make_queue(client: Any, properties: dict[str, Any]) -> str:
    name = properties.pop("QueueName")
    attributes = {key: value if isinstance(value, str) else json.dumps(value) for key, value in properties.items()}
    url = (await client.create_queue(QueueName=name, Attributes=attributes))["QueueUrl"]
    told = await client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(told["Attributes"]["QueueArn"])


async def _make_bucket(client: Any, properties: dict[str, Any]) -> None:
    name = {"Bucket": properties["BucketName"]}
    await client.create_bucket(**name)
    block = properties["PublicAccessBlockConfiguration"]
    await client.put_public_access_block(**name, PublicAccessBlockConfiguration=block)
    renamed = {"Id": "ID", "ExposedHeaders": "ExposeHeaders", "MaxAge": "MaxAgeSeconds"}
    cors = [
        {renamed.get(key, key): value for key, value in rule.items()}
        for rule in properties["CorsConfiguration"]["CorsRules"]
    ]
    await client.put_bucket_cors(**name, CORSConfiguration={"CORSRules": cors})
    rules = [_lifecycle_rule(rule) for rule in properties["LifecycleConfiguration"]["Rules"]]
    await client.put_bucket_lifecycle_configuration(**name, LifecycleConfiguration={"Rules": rules})


def _lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    """As the API writes what the template writes in fewer words."""
    made: dict[str, Any] = {"ID": rule["Id"], "Status": rule["Status"], "Filter": {"Prefix": rule.get("Prefix", "")}}
    if "ExpirationInDays" in rule:
        made["Expiration"] = {"Days": rule["ExpirationInDays"]}
    if "ExpiredObjectDeleteMarker" in rule:
        made["Expiration"] = {"ExpiredObjectDeleteMarker": rule["ExpiredObjectDeleteMarker"]}
    for same in ("NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"):
        if same in rule:
            made[same] = rule[same]
    return made
