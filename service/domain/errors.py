"""What a request can be refused for. Each class's docstring is its message to a person.

TiptraceError
├── BadRequest          InvalidParameter, MarkersMissing, LabelTaken, AddressRefused
├── NotAllowed          InvalidApiKey, NoRight, CrossSite, InvalidCourseKey
├── NotFound            MovieNotFound, ReceiptNotFound, UserNotFound, CourseNotFound, FrameNotFound
├── Conflict            LeaseRequired, LeaseLost, BeingEdited, BeingTraced, NotReady, MovieDeleted, WrongCourse,
│                       NothingToCancel, EditedMeanwhile, ChangedMeanwhile, UserDisabled, CourseTaken,
│                       CourseFull
├── KeyReused
├── TooLarge
├── TooMany
├── Unavailable         StoreUnavailable, OutcomeUnknown, MailFailed (RegisteredWithoutMail, MailNotSetUp)
└── EngineCrashed, FenceLost, which stay inside a worker

A few more stand where they are raised: MalformedBody, FileNotThere, UploadMissing, SourceMissing, BadLink.

`code` is for programs, `retryable` says whether the very same request may succeed later. HTTP statuses are known to
`service.web.problems` alone.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TiptraceError(Exception):
    """Something went wrong on our side. Try again in a minute."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, **details: Any) -> None:
        """`details` fill the blanks of the message and are kept for the answer; never put a secret there."""
        self.details = details
        super().__init__(self.message)

    @property
    def message(self) -> str:
        text = " ".join((type(self).__doc__ or "").split())
        return text.format(**self.details) if self.details else text


class BadRequest(TiptraceError):
    """The request cannot be understood."""

    code = "bad_request"


class InvalidParameter(BadRequest):
    """{name}: {why}"""

    code = "invalid_parameter"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name=name, why=why)


class MarkersMissing(BadRequest):
    """There are no markers on frame {frame}. Place at least one marker there and trace again."""

    code = "no_markers"


class LabelTaken(BadRequest):
    """Another marker of this movie is already called “{label}”. Choose another name."""

    code = "label_taken"


class AddressRefused(BadRequest):
    """The mail server does not deliver to this address. Look for a typing error in it, or use another address."""

    code = "address_refused"


class NotAllowed(TiptraceError):
    """You may not do this."""

    code = "forbidden"


class InvalidApiKey(NotAllowed):
    """You are not signed in, or this key is no longer valid. Sign in again."""

    code = "invalid_api_key"


class NoRight(NotAllowed):
    """You do not have the right to {what}."""

    code = "no_right"


class InvalidCourseKey(NotAllowed):
    """No course has this key. Ask your teacher for it."""

    code = "invalid_course_key"


class CrossSite(NotAllowed):
    """This request did not come from this site's own pages, so it was refused. Reload the page and try again."""

    code = "cross_site"


class NotFound(TiptraceError):
    """There is nothing here."""

    code = "not_found"


class MovieNotFound(NotFound):
    """There is no such movie."""

    code = "movie_not_found"


class ReceiptNotFound(NotFound):
    """No request with this key is known."""

    code = "receipt_not_found"


class UserNotFound(NotFound):
    """There is no such user."""

    code = "user_not_found"


class CourseNotFound(NotFound):
    """There is no such course."""

    code = "course_not_found"


class FrameNotFound(NotFound):
    """This movie has no frame {frame}."""

    code = "frame_not_found"


class Conflict(TiptraceError):
    """The movie is in another state than this request expects. Reload the page to see it."""

    code = "conflict"


class LeaseRequired(Conflict):
    """Open this movie in Analyze before changing it: the request carries no editing lease."""

    code = "lease_required"


class LeaseLost(Conflict):
    """Editing moved to another page, or this page's time ran out. Take editing back to save this change."""

    code = "lease_lost"


class BeingEdited(Conflict):
    """{name} is editing this movie."""

    code = "being_edited"


class BeingTraced(Conflict):
    """This movie is being traced. It can be changed when the trace has ended."""

    code = "being_traced"


class NotReady(Conflict):
    """This movie cannot be analyzed yet: it is {status}."""

    code = "not_ready"


class MovieDeleted(Conflict):
    """This movie has been deleted. Restore it first."""

    code = "movie_deleted"


class WrongCourse(Conflict):
    """This movie belongs to another course."""

    code = "wrong_course"


class NothingToCancel(Conflict):
    """No trace of this movie is waiting or running."""

    code = "nothing_to_cancel"


class EditedMeanwhile(Conflict):
    """The movie was changed while this request was under way. Look at it and try again."""

    code = "edited_meanwhile"
    retryable = True


class ChangedMeanwhile(Conflict):
    """This person's courses were changed by others while this request was under way. Try again."""

    code = "changed_meanwhile"
    retryable = True


class UserDisabled(Conflict):
    """This person's account has been disabled."""

    code = "user_disabled"


class CourseTaken(Conflict):
    """There is a course {course_id} already."""

    code = "course_taken"


class CourseFull(Conflict):
    """This course is full. Ask your teacher to raise the number of people who may register."""

    code = "course_full"


class KeyReused(TiptraceError):
    """This request key was already used for another request. Use a new key for a new request."""

    code = "request_key_reused"


class TooLarge(TiptraceError):
    """This is larger than the {limit} bytes allowed."""

    code = "too_large"


class TooMany(TiptraceError):
    """Too many requests. Wait a moment and try again."""

    code = "too_many"
    retryable = True


class Unavailable(TiptraceError):
    """The service is overloaded or a part of it is unreachable. Nothing is lost; try again in a few seconds."""

    code = "unavailable"
    retryable = True


class StoreUnavailable(Unavailable):
    """The database or the storage cannot be reached just now. Nothing is lost; try again in a few seconds."""

    code = "store_unavailable"


class OutcomeUnknown(Unavailable):
    """The database's answer was lost, so it is not known whether the change was made. Look before repeating."""

    code = "outcome_unknown"


class MailFailed(Unavailable):
    """The mail with the sign-in link could not be sent just now. Nothing is lost: ask for a new link in a minute."""

    code = "mail_failed"


class RegisteredWithoutMail(MailFailed):
    """You are registered, but the mail with your sign-in link could not be sent. Ask for a new link in a minute."""

    code = "registered_without_mail"


class MailNotSetUp(MailFailed):
    """This site sends no mail. Ask your teacher, or whoever runs it, for a sign-in link."""

    code = "mail_not_set_up"
    retryable = False


class EngineCrashed(TiptraceError):
    """The process that decodes and traces died."""

    code = "engine_crashed"
    retryable = True


class FenceLost(TiptraceError):
    """This worker no longer holds the job: another attempt, a cancel or a newer trace has taken its place."""

    code = "fence_lost"
