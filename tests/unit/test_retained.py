"""What a new journal must begin with, folded from the records of the old one."""

from typing import Any

from service.local.journal import Record
from service.local.retained import TOKEN_SECONDS, Retained


def table(op: str, at: float = 0.0, **body: Any) -> Record:
    return {"at": at, "target": f"DynamoDB_20120810.{op}", "body": body}


def queue(op: str, **body: Any) -> Record:
    return {"at": 0.0, "target": f"AmazonSQS.{op}", "body": body}


def bucket(method: str, part: str = "", text: str = "") -> Record:
    return {"at": 0.0, "method": method, "path": "/movies", "query": part, "headers": [], "text": text}


def kept(*records: Record) -> list[Record]:
    retained = Retained()
    for record in records:
        retained.fold(record)
    return retained.requests()


CREATE = table("CreateTable", TableName="jobs", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}])


def test_item_writes_leave_nothing_but_their_token() -> None:
    retained = Retained()
    retained.fold(table("PutItem", TableName="jobs", Item={}))
    retained.fold({**table("TransactWriteItems", at=5.0), "token": "t", "digest": "d"})
    assert retained.requests() == []
    assert retained.tokens(now=6.0) == [{"at": 5.0, "token": "t", "digest": "d"}]


def test_a_token_is_forgotten_after_its_ten_minutes() -> None:
    retained = Retained()
    for at in (0.0, 100.0):
        retained.fold({"at": at, "token": f"at {at}", "digest": "d"})
    assert retained.token_digest("at 0.0", now=TOKEN_SECONDS - 1) == "d"
    assert retained.token_digest("at 0.0", now=TOKEN_SECONDS) is None
    assert [record["token"] for record in retained.tokens(now=TOKEN_SECONDS)] == ["at 100.0"]


def test_every_change_of_a_table_is_kept_in_its_order() -> None:
    add, drop = (table("UpdateTable", TableName="jobs", Wish=wish) for wish in ("add index", "drop index"))
    assert kept(CREATE, add, drop, add) == [CREATE, add, drop, add]


def test_a_deleted_table_takes_its_changes_along_and_no_others() -> None:
    other = table("CreateTable", TableName="movies", KeySchema=[])
    tag = table("TagResource", ResourceArn="arn:aws:dynamodb:us-east-1:0:table/jobs", Tags=[])
    live = table(
        "UpdateTimeToLive", TableName="jobs", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    assert kept(CREATE, tag, other, live, table("DeleteTable", TableName="jobs")) == [other]


def test_settings_that_are_repeated_at_every_start_do_not_add_up() -> None:
    tag = table("TagResource", ResourceArn="arn:aws:dynamodb:us-east-1:0:table/jobs", Tags=[])
    start = [queue("CreateQueue", QueueName="q"), bucket("PUT"), bucket("PUT", "cors", "<a/>"), tag]
    assert kept(CREATE, *start, *start, *start) == [CREATE, *start]


def test_time_to_live_that_was_switched_off_deletes_nothing() -> None:
    retained = Retained()
    retained.fold(CREATE)
    for enabled in (True, False):
        wish = {"Enabled": enabled, "AttributeName": "until"}
        retained.fold(table("UpdateTimeToLive", TableName="jobs", TimeToLiveSpecification=wish))
        assert retained.time_to_live() == ({"jobs": "until"} if enabled else {})


def test_a_deleted_queue_and_a_deleted_bucket_are_forgotten_with_their_settings() -> None:
    url = "http://127.0.0.1:4000/000000000000/q"
    assert kept(
        queue("CreateQueue", QueueName="q"),
        queue("SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": "5"}),
        bucket("PUT"),
        bucket("PUT", "cors", "<a/>"),
        queue("DeleteQueue", QueueUrl=url),
        bucket("DELETE"),
    ) == []  # fmt: skip


def test_the_last_rule_of_a_bucket_counts() -> None:
    first, last = bucket("PUT", "cors", "<first/>"), bucket("PUT", "cors", "<last/>")
    assert kept(bucket("PUT"), first, last) == [bucket("PUT"), last]
    assert kept(bucket("PUT"), first, bucket("DELETE", "cors")) == [bucket("PUT")]
