"""What each route takes, as records."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from service.domain.errors import InvalidParameter
from service.web.fields import fields
from service.web.kinds import (
    CourseId,
    Decimal,
    Flag,
    Frame,
    LeaseId,
    MovieId,
    Name,
    Options,
    Points,
    Text,
    UserId,
    Whole,
)


class Parameters(BaseModel):
    """Fields that a route does not know are left alone: older and newer clients send more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class OfMovie(Parameters):
    movie_id: MovieId
    course_id: CourseId = None


class Edit(OfMovie):
    """A write that the analysis lease fences. With a request key it may be sent again after a lost answer."""

    analysis_lease_id: LeaseId = None
    request_key: str | None = None


class Acquire(OfMovie):
    lease_request_key: Name = None
    analysis_lease_id: LeaseId = None
    take_over: Flag = False


class HeldLease(OfMovie):
    """Heartbeat and release name a lease; without one there is nothing to speak of."""

    analysis_lease_id: LeaseId

    @field_validator("analysis_lease_id")
    @classmethod
    def _given(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("is required")
        return value


class Trace(OfMovie):
    frame_start: Frame = 0
    frame_end: Frame | None = None
    analysis_lease_id: LeaseId = None
    request_key: str | None = None
    keep_placed: Flag = False
    options: Options = Field(default_factory=dict)


class Cancel(OfMovie):
    """Which job is meant, if the client knows it: then a late request cannot stop the one after it."""

    job_id: Name = None


class ReceiptOf(Parameters):
    request_key: Text


class NewMovie(Parameters):
    title: Annotated[Text, Field(max_length=200)] = ""
    description: Annotated[Text, Field(max_length=4000)] = ""
    movie_data_sha256: Annotated[Text, Field(max_length=64)]
    movie_data_length: Whole
    research_use: Flag = False
    credit_by_name: Flag = False
    attribution_name: Name = None
    fpm: Decimal | None = None
    request_key: str | None = None

    @field_validator("fpm")
    @classmethod
    def _interval(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value <= 6000:
            raise ValueError("must be above 0 and at most 6000 frames per minute")
        return value


class Metadata(OfMovie):
    frame_start: Frame | None = None
    frame_count: Frame | None = None
    get_all_if_tracking_completed: Flag = False
    analysis_lease_id: LeaseId = None

    @model_validator(mode="after")
    def _both(self) -> Metadata:
        if (self.frame_start is None) != (self.frame_count is None):
            name = "frame_start" if self.frame_start is None else "frame_count"
            raise InvalidParameter(name, "is required: frame_start and frame_count go together")
        return self


class ListMovies(Parameters):
    course_id: CourseId = None


class PutTrackpoints(Edit):
    frame_number: Frame
    trackpoints: Points


class RenameMarker(Edit):
    old_label: Text
    new_label: Text


class SetTrim(Edit):
    trim_start_frame: Frame | None = None
    trim_end_frame: Frame | None = None


class SetFpm(Edit):
    fpm: Decimal


class Rotate(Edit):
    rotation: Whole


class DeleteMovie(OfMovie):
    """Putting away what is away changes nothing, so this needs no request key."""

    analysis_lease_id: LeaseId = None
    delete: Flag = True


class SetMetadata(Parameters):
    set_movie_id: MovieId | None = None
    set_user_id: UserId | None = None
    course_id: CourseId = None
    property: Text
    value: Any = None


class SetResearch(OfMovie):
    research_use: Flag | None = None
    credit_by_name: Flag | None = None
    attribution_name: Annotated[Text, Field(max_length=200)] | None = None


class Export(OfMovie):
    format: Literal["csv", "xlsx", "json"] = "csv"
    points: Flag = True


class FramePicture(OfMovie):
    frame_number: Frame


class MovieData(OfMovie):
    format: Literal["json", "zip", "redirect"] = "json"


class SignIn(Parameters):
    token: Annotated[Text, Field(max_length=1000)]


P = TypeVar("P", bound=Parameters)


def parsed(kind: type[P]) -> P:
    """This request's parameters; the movie they name is bound to the log.

    Raises InvalidParameter that names the first one at fault.
    """
    record = checked(kind, fields())
    if isinstance(record, OfMovie):
        structlog.contextvars.bind_contextvars(movie_id=record.movie_id)
    return record


def checked(kind: type[P], found: dict[str, Any]) -> P:
    """`found` as a record, or InvalidParameter."""
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"][:1]) or "parameters"
        raise InvalidParameter(name, _why(first)) from None


def _why(problem: Any) -> str:
    """Pydantic's verdict in the words of this service."""
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind == "missing":
        return "is required"
    if kind == "value_error":
        return str(context["error"])
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']}"
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "string_type":
        return "must be text"
    return "is not valid"
