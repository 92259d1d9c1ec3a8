"""How each view can end: statuses of success, and which errors refuse it. The codes come from the errors themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from service.domain import errors
from service.domain.errors import TiptraceError
from service.usecases.rotate_movie import SourceMissing
from service.usecases.sign_in import BadLink
from service.usecases.upload_movie import UploadMissing
from service.web.fields import MalformedBody
from service.web.media import FileNotThere
from service.web.problems import status_of
from service.web.takes import OPEN, OPEN_ROOMS, TAKES

Errors = tuple[type[TiptraceError], ...]

WELL: Mapping[str, tuple[int, ...]] = {
    "admin.new_course": (201,),
    "media.first_frame": (200, 304),
    "media.frame": (200, 304),
    "media.movie_data": (200, 302),
    "movies.process_upload": (200, 202),
    "pages.index": (200, 304, 308),
    "pages.analyze": (200, 304),
    "pages.upload": (200, 304),
    "pages.activity": (200, 304),
    "pages.course": (200, 304),
    "pages.signin": (200, 304),
    "pages.static": (200, 302, 304),
    "people.enter": (303,),
    "people.leave": (303,),
    "reading.get_movie_metadata": (200, 304),
    "reference.openapi_json": (200, 304),
    "reference.docs": (200, 304),
    "tracing.trace_movie": (200, 202),
}
"""Statuses of success, where they are not 200 alone."""

_FENCED: Errors = (
    errors.LeaseRequired, errors.LeaseLost, errors.BeingTraced, errors.NotReady, errors.MovieDeleted,
    errors.EditedMeanwhile, errors.KeyReused, errors.OutcomeUnknown,
)  # fmt: skip
_WRITTEN: Errors = (errors.MovieDeleted, errors.EditedMeanwhile, errors.OutcomeUnknown)
_MAILED: Errors = (errors.MailFailed, errors.MailNotSetUp, errors.AddressRefused)
_COURSES: Errors = (errors.CourseNotFound, errors.UserNotFound, errors.ChangedMeanwhile)
_OF_ROOM: Mapping[str, Errors] = {
    "editing": _FENCED,
    "admin": (errors.NoRight,),
    "directory": (errors.NoRight, errors.CourseNotFound, errors.UserNotFound),
}
_OF_VIEW: Mapping[str, Errors] = {
    "leases.acquire": (errors.NotReady, errors.MovieDeleted, errors.OutcomeUnknown),
    "leases.heartbeat": (errors.OutcomeUnknown,),
    "leases.release": (errors.OutcomeUnknown,),
    "editing.put_frame_trackpoints": (errors.LabelTaken, errors.FrameNotFound),
    "editing.rename_marker": (errors.LabelTaken,),
    "editing.rotate_movie": (SourceMissing,),
    "movies.new_movie": (errors.KeyReused, errors.Conflict, errors.OutcomeUnknown),
    "movies.process_upload": (UploadMissing, *_WRITTEN),
    "movies.list_all": (errors.NoRight, errors.CourseNotFound),
    "movies.delete_movie": (errors.BeingEdited, errors.BeingTraced, errors.NotReady, *_WRITTEN),
    "movies.set_metadata": (
        errors.NoRight, errors.MovieNotFound, errors.UserNotFound, errors.WrongCourse, *_WRITTEN,
    ),
    "movies.set_research_metadata": _WRITTEN,
    "tracing.trace_movie": (errors.MarkersMissing, errors.BeingEdited, *_FENCED),
    "tracing.cancel_trace": (errors.NothingToCancel, *_WRITTEN),
    "tracing.get_receipt": (errors.ReceiptNotFound,),
    "media.first_frame": (errors.FrameNotFound,),
    "media.frame": (errors.FrameNotFound,),
    "media.movie_data": (FileNotThere,),
    "people.enter": (BadLink, errors.CrossSite, errors.UserDisabled, errors.OutcomeUnknown, errors.TooMany),
    "people.leave": (errors.CrossSite,),
    "registration.register": (
        errors.InvalidCourseKey, errors.CourseFull, errors.UserDisabled, errors.RegisteredWithoutMail,
        errors.ChangedMeanwhile, errors.OutcomeUnknown, errors.TooMany, *_MAILED,
    ),
    "registration.resend_link": (errors.TooMany, *_MAILED),
    "registration.bulk_register": (
        errors.NoRight, errors.CourseNotFound, errors.InvalidCourseKey, errors.TooMany, errors.TooLarge, *_MAILED,
    ),
    "directory.default_course": (errors.ChangedMeanwhile, errors.OutcomeUnknown),
    "directory.current_course": (errors.ChangedMeanwhile, errors.OutcomeUnknown),
    "directory.get_logs": (errors.MovieNotFound,),
    "admin.new_course": (errors.CourseTaken, errors.OutcomeUnknown),
    "admin.assign_administrator": (*_COURSES, errors.UserDisabled, errors.OutcomeUnknown),
    "admin.remove_administrator": (*_COURSES, errors.OutcomeUnknown),
    "admin.movie_media": (errors.MovieNotFound,),
    "admin.movie_storage_health": (errors.MovieNotFound,),
}  # fmt: skip


def refusals(endpoint: str, method: str) -> dict[int, list[str]]:
    """Status -> codes with which this view, or what stands before it, may refuse."""
    found: dict[int, list[str]] = {413: ["too_large"], 503: ["overloaded", "not_running"]}
    for kind in _errors(endpoint):
        codes = found.setdefault(int(status_of(kind.__new__(kind))), [])
        if kind.code not in codes:
            codes.append(kind.code)
    if endpoint == "health.readyz":
        found[503] += ["part_down", "stopping"]
    elif endpoint == "pages.static":
        found |= {404: ["not_found"]}
    if 400 in found and method not in ("GET", "HEAD"):
        found[415] = ["unsupported_media_type"]
    return dict(sorted(found.items()))


def _errors(endpoint: str) -> Iterable[type[TiptraceError]]:
    room = endpoint.partition(".")[0]
    takes = TAKES.get(endpoint)
    guarded = room not in OPEN_ROOMS and endpoint not in OPEN
    if takes or guarded:
        yield from (errors.InvalidParameter, MalformedBody)
    if guarded:
        yield from (errors.InvalidApiKey, errors.CrossSite, errors.TooMany)
    if takes and "movie_id" in takes.model_fields and room != "directory":
        yield from (errors.NoRight, errors.MovieNotFound, errors.WrongCourse)
    if room not in ("pages", "reference", "health"):
        yield from (errors.StoreUnavailable, errors.Unavailable)
    yield from _OF_ROOM.get(room, ())
    yield from _OF_VIEW.get(endpoint, ())
