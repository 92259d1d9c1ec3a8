"""What the routes of people, courses and the audit trail answer, as records: for the description of the routes.

A test holds every one of these routes to its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from service.domain.audit import EventType


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Answer(Part):
    error: Literal[False]


class Course(Part):
    """Its key, its limit and its count are there for those who administer it."""

    course_id: str
    course_name: str
    course_admin: bool = Field(description="Whether the caller administers it.")
    course_key: str | None = None
    max_enrollment: int | None = None
    enrolled: int | None = None


class CourseContext(Part):
    course_id: str
    course_name: str
    course_admin: bool


class User(Part):
    user_id: str
    user_name: str
    email: str
    primary_course_id: str
    courses: list[str]
    admin_of: list[str]
    roles: list[Literal["superadmin", "superauditor"]]
    enabled: bool
    created: int


class Registered(Answer):
    email: str = Field(description="The address in its normal form.")
    course_id: str
    course_name: str
    message: str


class LinkSent(Answer):
    message: str


class ListedLine(Part):
    """`repeated`: the address stands further up too. `code` and `message` say why nobody came in or no mail left."""

    typed: str
    email: str | None
    outcome: Literal["registered", "joined", "member", "repeated", "refused"]
    mailed: bool
    user_id: str | None = None
    code: str | None = None
    message: str | None = None


class BulkRegistered(Answer):
    course_id: str
    results: list[ListedLine]
    registered: int
    joined: int
    refused: int
    mailed: int


class Paged(Answer):
    """`next_offset` is null on the last page."""

    total: int
    offset: int
    next_offset: int | None


class Users(Paged):
    users: list[User]
    courses: list[Course]


class DefaultCourse(Answer):
    course_id: str
    course_name: str
    course_context: CourseContext


class Event(Part):
    """`user_id` is who acted (`operator` for a command on the machine), `subject_user_id` whom it was done to."""

    log_id: str
    event_type: EventType
    time_t: int
    user_id: str
    sentence: str = Field(description="What happened, for people.")
    subject_user_id: str | None = None
    course_id: str | None = None
    movie_id: str | None = None
    ipaddr: str | None = None
    trace_job_id: str | None = None
    request_key: str | None = None
    attempt: int | None = None
    elapsed_seconds: float | None = None
    frames: int | None = None
    error_type: str | None = None
    error_summary: str | None = None


class Logs(Answer):
    """Newest first. `cut_short`: too many events were looked at; ask for a narrower span of time."""

    logs: list[Event]
    count: int
    offset: int
    next_offset: int | None
    cut_short: bool


class CountedCourse(Course):
    members: int
    movies: int
    movies_by_status: dict[str, int]
    movies_deleted: int
    total_bytes: int
    last_activity_at: int | None


class Summary(Paged):
    courses: list[CountedCourse]


class CourseMade(Answer):
    course: Course


class Administration(Answer):
    course_id: str
    user: User
    changed: bool = Field(description="False if it was so already.")


class StoredFile(Part):
    kind: Literal["movie_data", "movie_zipfile", "movie_traced", "first_frame"]
    urn: str
    exists: bool
    bytes: int | None
    expected_bytes: int | None
    url: str | None = Field(None, description="Signed, where the file exists.")


class Media(Answer):
    movie_id: str
    media: list[StoredFile]


class StorageHealth(Answer):
    """`strays` are keys of the store under the movie's own prefix that its row does not name."""

    movie_id: str
    healthy: bool
    status: str
    problems: list[str]
    objects: list[StoredFile]
    strays: list[str]


GIVES: Mapping[str, type[Answer]] = {
    "registration.register": Registered,
    "registration.resend_link": LinkSent,
    "registration.bulk_register": BulkRegistered,
    "directory.list_users": Users,
    "directory.list_users_courses": Users,
    "directory.default_course": DefaultCourse,
    "directory.current_course": DefaultCourse,
    "directory.get_logs": Logs,
    "admin.summary": Summary,
    "admin.new_course": CourseMade,
    "admin.assign_administrator": Administration,
    "admin.remove_administrator": Administration,
    "admin.movie_media": Media,
    "admin.movie_storage_health": StorageHealth,
}
"""Which record each view answers with; views that are not named answer with what the contract says."""
