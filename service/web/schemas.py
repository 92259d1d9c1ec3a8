"""What each route takes, as records. A form sends '12' where JSON sends 12; both are the same number here."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

import structlog
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from service.domain.errors import InvalidParameter
from service.domain.ids import MOVIE_ID, USER_ID
from service.web.fields import fields, json_value

_WHOLE = re.compile(r"[+-]?[0-9]{1,10}\Z")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?\Z")
_FLAGS = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True, "off": False, "on": True}
_LARGEST = 2**31 - 1
_MAX_OPTIONS = 4000
_MAX_NAME = 200


def _whole(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise ValueError("must be a whole number")
    return value


def _decimal(value: Any) -> Any:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:  # nor is it NaN
        raise ValueError("must be a number")
    return float(value)


def _flag(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | str) and str(value).strip().lower() in _FLAGS:
        return _FLAGS[str(value).strip().lower()]
    raise ValueError("must be 0 or 1")


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be text")
    if "\x00" in value:
        raise ValueError("must not hold control characters")
    return value


def _optional_text(value: Any) -> Any:
    return None if value is None else _text(value).strip() or None


def _short(value: str | None) -> str | None:
    """A constraint of pydantic's own would break on None."""
    if value is not None and len(value) > _MAX_NAME:
        raise ValueError(f"must have at most {_MAX_NAME} characters")
    return value


def _lease_id(value: Any) -> Any:
    """An empty one counts as missing. A malformed one is kept: it is simply nobody's, a conflict and no bad request."""
    return _optional_text(value)


def _matching(pattern: re.Pattern[str], what: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"is not {what}")
        return value

    return BeforeValidator(check)


def _described(pattern: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern.pattern.removesuffix(chr(92) + 'Z')}$"})


def _json_list(value: Any) -> Any:
    """A form sends the list as JSON text."""
    if isinstance(value, str):
        try:
            value = json_value(value)
        except ValueError:
            raise ValueError("must be a JSON list of points") from None
    if not isinstance(value, list):
        raise ValueError("must be a JSON list of points")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Frame = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Decimal = Annotated[float, BeforeValidator(_decimal)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, BeforeValidator(_text)]
MovieId = Annotated[str, _matching(MOVIE_ID, "the id of a movie"), _described(MOVIE_ID)]
UserId = Annotated[str, _matching(USER_ID, "the id of a user"), _described(USER_ID)]
LeaseId = Annotated[str | None, BeforeValidator(_lease_id)]
Name = Annotated[str | None, BeforeValidator(_optional_text), AfterValidator(_short)]
CourseId = Name
Points = Annotated[list[Any], BeforeValidator(_json_list)]


class Parameters(BaseModel):
    """Fields that a route does not know are left alone: older and newer clients send more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class OfMovie(Parameters):
    movie_id: MovieId
    course_id: CourseId = None


class Edit(OfMovie):
    """A write that the analysis lease fences."""

    analysis_lease_id: LeaseId = None


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
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("options", mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = json_value(value)
            except ValueError:
                value = None
        plain = isinstance(value, dict) and all(isinstance(v, str | int | float | bool) for v in value.values())
        if not plain or len(repr(value)) > _MAX_OPTIONS:
            raise ValueError("must be a small JSON object of names and plain values")
        return value


class ReceiptOf(Parameters):
    request_key: Text


class NewMovie(Parameters):
    title: Annotated[str, BeforeValidator(_text), Field(max_length=200)] = ""
    description: Annotated[str, BeforeValidator(_text), Field(max_length=4000)] = ""
    movie_data_sha256: Annotated[str, BeforeValidator(_text), Field(max_length=64)]
    movie_data_length: Annotated[int, BeforeValidator(_whole)]
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


class DeleteMovie(Edit):
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
    attribution_name: Annotated[str | None, BeforeValidator(_text), Field(max_length=200)] = None


class Export(OfMovie):
    format: Literal["csv", "xlsx", "json"] = "csv"


class FramePicture(OfMovie):
    frame_number: Frame


class MovieData(OfMovie):
    format: Literal["json", "zip", "redirect"] = "json"


class SignIn(Parameters):
    token: Annotated[str, BeforeValidator(_text), Field(max_length=1000)]


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


def flag(value: Any, name: str) -> bool:
    """A field whose kind depends on another field. Raises InvalidParameter."""
    try:
        return bool(_flag(value))
    except ValueError as error:
        raise InvalidParameter(name, str(error)) from None


def _why(problem: Any) -> str:
    """Pydantic's verdict in the words of this service."""
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind == "missing":
        return "is required"
    if kind == "value_error":
        return str(context["error"])
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "string_type":
        return "must be text"
    return "is not valid"
