"""What the routes of movies, leases, traces and the service itself answer, as records.

Every contract test holds every answer that it gets to its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from service.domain.lease import Kind, State
from service.web.answers import Answer, CourseContext, Part

Status = Literal["uploading", "processing", "ready", "tracing", "tracing completed", "tracing failed", "unusable"]


class AnalysisLock(Part):
    """Somebody edits the movie. Instants are seconds since 1970 began."""

    active: Literal[True]
    owned: bool = Field(description="Whether the caller showed the live lease.")
    own_user: bool = Field(description="Whether it is the caller's, perhaps in another page.")
    acquired_at: int
    expires_at: int
    started_by_user_name: str


class TrackingLock(Part):
    """A job works on the movie. The job's id is a name and no credential."""

    active: Literal[True]
    kind: Kind
    state: State
    job_id: str
    attempt: int
    acquired_at: int
    expires_at: int
    started_by_user_name: str
    last_frame_tracked: int
    total_frames: int
    frame_start: int | None = None
    frame_end: int | None = None
    backward_frame: int | None = Field(None, description="Where the pass from later placed points down has come to.")


class MovieFacts(Part):
    """What is told of a movie everywhere. Rows of an older service carry attributes of their own besides."""

    model_config = ConfigDict(extra="allow")

    movie_id: str
    status: Status
    can_edit: bool
    can_take_over: bool | None = Field(None, description="Whether you may end another person's editing.")
    title: str | None = None
    description: str | None = None
    user_id: str | None = None
    course_id: str | None = None
    total_frames: int | None = None
    total_bytes: int | None = None
    width: int | None = Field(None, description="Of the upright source, pixels.")
    height: int | None = None
    frame_width: int | None = Field(None, description="Of the analysis frame, pixels.")
    frame_height: int | None = None
    fpm: str | None = Field(None, description="Pictures that the camera took per minute, as text.")
    last_frame_tracked: int | None = None
    needs_retracing: bool = False
    failure_code: str | None = None
    tracing_failure_summary: str | None = None
    status_reason: str | None = None
    resuming: bool | None = Field(None, description="Whether another attempt follows by itself.")
    analysis_lock: AnalysisLock | None = None
    tracking_lock: TrackingLock | None = None


class MovieMetadata(MovieFacts):
    """The whole of it. Signed links are there where the file exists."""

    trim_start_frame: int
    trim_end_frame: int
    edit_seq: int
    fps: str | float | None = None
    rotation: int | None = None
    trackpoint_origin: str | None = None
    inspection: dict[str, Any] | None = None
    movie_data_url: str | None = None
    movie_zipfile_url: str | None = None
    movie_traced_url: str | None = None


class Trackpoint(Part):
    """A marker in one frame: pixels of the analysis frame, origin at the lower left."""

    frame_number: int
    marker_id: str
    label: str
    x: float
    y: float
    status: Literal[0, 1] = Field(description="1: seen, 0: lost, and the position carried.")
    err: float = Field(description="Estimated error, pixels.")
    color: str
    undeletable: bool
    placed: str = Field(description="`user` or `trace`.")


class ShownFrame(Part):
    markers: list[Trackpoint]
    time: float | None = Field(None, description="Seconds from the first frame, by the movie's own timestamps.")
    untouched: bool | None = Field(None, description="True for the markers that a movie starts with.")


class MetadataTold(Answer):
    metadata: MovieMetadata
    frames: dict[str, ShownFrame] | None = Field(None, description="By frame number, if they were asked for.")


class LeaseAnswer(Answer):
    """`lease_id` is null if editing was denied; `message` says why."""

    movie_id: str
    lease_id: str | None
    analysis_lock: AnalysisLock | None
    tracking_lock: TrackingLock | None = None
    message: str | None = None
    idle_seconds: int | None = None


class Beat(Answer):
    """A lost lease is an answer: `active` false, with code and message."""

    active: bool
    expires_at: int | None
    code: str | None = None
    message: str | None = None


class Released(Answer):
    released: bool


class OfOneMovie(Answer):
    movie_id: str


class Edited(OfOneMovie):
    metadata: MovieMetadata


class FrameEdited(Edited):
    frame_number: int


class Renamed(Edited):
    frames_updated: int
    trackpoints_updated: int


class Deleted(Edited):
    deleted: bool


class Described(Answer):
    """Of the movie or of the person, whichever was changed."""

    movie_id: str | None = None
    metadata: MovieMetadata | None = None
    user_id: str | None = None
    user_name: str | None = None


class PresignedPost(Part):
    """Send the fields and then the file, in this order, as multipart form to `url`."""

    url: str
    fields: dict[str, str]


class Announced(OfOneMovie):
    presigned_post: PresignedPost
    upload_completion_mode: Literal["process-upload"]
    request_key: str
    replayed: bool
    retired: bool


class UploadState(OfOneMovie):
    status: Status


class NamedCourse(Part):
    course_id: str
    course_name: str


class Movies(Answer):
    """`courses`: those that the listed movies belong to."""

    movies: list[MovieFacts]
    courses: list[NamedCourse]
    course_context: CourseContext | None


class TraceAccepted(Part):
    movie_id: str
    frame_start: int | None
    frame_end: int | None
    job_id: str


class Submitted(Answer):
    """`replayed`: this request key had its job already. `retired`: its earlier receipt was past its time."""

    message: TraceAccepted
    request_key: str
    job_id: str
    state: str
    replayed: bool
    retired: bool


class Cancelled(OfOneMovie):
    job_id: str | None
    cancelled: Literal[True]


class Failure(Part):
    code: str
    summary: str | None


class ReceiptTold(OfOneMovie):
    request_key: str
    kind: str
    job_id: str
    state: str
    created_at: int
    updated_at: int
    attempts: int
    result: dict[str, Any] | None = None
    failure: Failure | None = None


class Links(OfOneMovie):
    movie_data_url: str | None = None
    movie_zipfile_url: str | None = None
    movie_traced_url: str | None = None


class Myself(Part):
    user_id: str
    user_name: str
    email: str
    course_id: str
    course_name: str
    roles: list[str]
    admin_of: list[str] = Field(description="Courses that the caller administers.")
    max_upload_bytes: int = Field(description="The longest movie that this service takes.")


class KeyChecked(Answer):
    user: Myself
    course_context: CourseContext | None


class ExportedPoint(Part):
    frame_number: int
    label: str
    x: float
    y: float
    status: Literal[0, 1]
    err: float
    color: str | None
    time: float | None = None


class Trim(Part):
    start: int
    end: int | None


class ExportedMovie(Part):
    width: int | None
    height: int | None
    frame_width: int | None
    frame_height: int | None
    frames: int | None
    fps: float | None
    fpm: float | None
    trim: Trim
    inspection: dict[str, Any] | None


class Exported(Answer):
    """Analysis-frame pixels in full precision; `results` in millimetres where the movie is calibrated."""

    movie: ExportedMovie
    trackpoint_dicts: list[ExportedPoint]
    results: dict[str, Any]


class Alive(Answer):
    status: Literal["ok"]


class Ready(Alive):
    dependencies: dict[str, bool]
    clock_skew_seconds: float | None


class Version(Answer):
    name: Literal["tiptrace"]
    version: str


class Pong(Answer):
    message: Literal["pong"]
    version: str


GIVES: Mapping[str, type[Answer]] = {
    "leases.acquire": LeaseAnswer,
    "leases.heartbeat": Beat,
    "leases.release": Released,
    "editing.put_frame_trackpoints": FrameEdited,
    "editing.rename_marker": Renamed,
    "editing.reset_movie_tracing": Edited,
    "editing.set_movie_trim": Edited,
    "editing.set_movie_fpm": Edited,
    "editing.rotate_movie": Edited,
    "movies.new_movie": Announced,
    "movies.process_upload": UploadState,
    "movies.list_all": Movies,
    "movies.delete_movie": Deleted,
    "movies.set_metadata": Described,
    "movies.set_research_metadata": Edited,
    "reading.get_movie_metadata": MetadataTold,
    "tracing.trace_movie": Submitted,
    "tracing.cancel_trace": Cancelled,
    "tracing.get_receipt": ReceiptTold,
    "media.movie_data": Links,
    "people.check_api_key": KeyChecked,
    "exports.get_movie_trackpoints": Exported,
    "health.healthz": Alive,
    "health.readyz": Ready,
    "health.ver": Version,
    "health.ping": Pong,
}
"""Which record each of these views answers with, where it answers in JSON."""
