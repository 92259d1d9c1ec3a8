"""What the routes of people, courses and the audit trail take, as records."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from service.domain.errors import InvalidParameter
from service.web.fields import json_value
from service.web.kinds import CourseId, MovieId, Name, Text, UserId, Whole
from service.web.schemas import Parameters

_MAX_LIST = 100_000
_SEPARATORS = str.maketrans({",": "\n", ";": "\n", "\r": "\n", "\t": " "})


def _lines(value: Any) -> Any:
    """A JSON list of texts, or one text with an address on each line (or between commas or semicolons)."""
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            try:
                value = json_value(value)
            except ValueError:
                raise ValueError("must be a list of e-mail addresses") from None
        else:
            value = value.translate(_SEPARATORS).split("\n")
    if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
        raise ValueError("must be a list of e-mail addresses")
    return [line.strip() for line in value if line.strip()]


Lines = Annotated[
    list[str],
    BeforeValidator(_lines),
    WithJsonSchema(
        {
            "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
            "description": "`ada@example.org` or `Ada Green <ada@example.org>`, one on each line or in each item.",
        }
    ),
]
Email = Annotated[Text, Field(max_length=320, description="An e-mail address, however it is typed.")]
CourseKey = Annotated[Text, Field(max_length=100, description="The key that a course's students register with.")]
Count = Annotated[Whole, Field(ge=1, le=1000, description="How many entries to return at most.")]
Offset = Annotated[Whole, Field(ge=0, le=1_000_000, description="How many entries to leave out.")]
Instant = Annotated[Whole, Field(ge=0, description="Seconds since 1970 began.")]


class Register(Parameters):
    course_key: CourseKey
    email: Email
    name: Annotated[Text, Field(max_length=200, description="How others see this person.")] = ""


class ResendLink(Parameters):
    email: Email


class BulkRegister(Parameters):
    """Exactly one of `course_id` and `course_key`. Older scripts call the list `email-addresses`."""

    emails: Annotated[Lines, Field(validation_alias=AliasChoices("emails", "email-addresses"))]
    course_id: CourseId = None
    course_key: Annotated[CourseKey | None, Field()] = None

    @field_validator("course_key")
    @classmethod
    def _empty_is_none(cls, value: str | None) -> str | None:
        return value or None


class Page(Parameters):
    count: Count = 100
    offset: Offset = 0


class ListUsers(Page):
    course_id: CourseId = None


class GetLogs(Page):
    """Newest first. `start_time` and `end_time` belong to the span."""

    start_time: Instant = 0
    end_time: Instant | None = None
    course_id: CourseId = None
    movie_id: MovieId | None = None
    log_user_id: UserId | None = None

    @model_validator(mode="after")
    def _in_order(self) -> GetLogs:
        if self.end_time is not None and self.end_time < self.start_time:
            raise InvalidParameter("end_time", "must not be before start_time")
        return self


class DefaultCourse(Parameters):
    course_id: Annotated[Text, Field(min_length=1, max_length=200)]


class NewCourse(Parameters):
    course_id: Annotated[Text, Field(max_length=200)]
    course_name: Name = None
    max_enrollment: Annotated[Whole, Field(ge=1, le=1_000_000)] = 500


class OfMoviePath(Parameters):
    movie_id: MovieId


class OfAdministrator(Parameters):
    """`user` is an id or an address."""

    course_id: Annotated[Text, Field(max_length=200)]
    user: Annotated[Text, Field(max_length=320)]
