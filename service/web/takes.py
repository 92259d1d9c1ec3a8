"""What each view takes, and which views ask for no key: for the description of the routes."""

from __future__ import annotations

from collections.abc import Mapping

from service.web import people_schemas, schemas

TAKES: Mapping[str, type[schemas.Parameters]] = {
    "leases.acquire": schemas.Acquire,
    "leases.heartbeat": schemas.HeldLease,
    "leases.release": schemas.HeldLease,
    "editing.put_frame_trackpoints": schemas.PutTrackpoints,
    "editing.rename_marker": schemas.RenameMarker,
    "editing.reset_movie_tracing": schemas.Edit,
    "editing.set_movie_trim": schemas.SetTrim,
    "editing.set_movie_fpm": schemas.SetFpm,
    "editing.rotate_movie": schemas.Rotate,
    "movies.new_movie": schemas.NewMovie,
    "movies.process_upload": schemas.OfMovie,
    "movies.list_all": schemas.ListMovies,
    "movies.delete_movie": schemas.DeleteMovie,
    "movies.set_metadata": schemas.SetMetadata,
    "movies.set_research_metadata": schemas.SetResearch,
    "reading.get_movie_metadata": schemas.Metadata,
    "tracing.trace_movie": schemas.Trace,
    "tracing.cancel_trace": schemas.Cancel,
    "tracing.get_receipt": schemas.ReceiptOf,
    "media.first_frame": schemas.OfMovie,
    "media.frame": schemas.FramePicture,
    "media.movie_data": schemas.MovieData,
    "exports.get_movie_trackpoints": schemas.Export,
    "people.enter": schemas.SignIn,
    "registration.register": people_schemas.Register,
    "registration.resend_link": people_schemas.ResendLink,
    "registration.bulk_register": people_schemas.BulkRegister,
    "directory.list_users": people_schemas.ListUsers,
    "directory.list_users_courses": people_schemas.ListUsers,
    "directory.default_course": people_schemas.DefaultCourse,
    "directory.current_course": people_schemas.DefaultCourse,
    "directory.get_logs": people_schemas.GetLogs,
    "admin.summary": people_schemas.Page,
    "admin.new_course": people_schemas.NewCourse,
}
"""Which parameters each view parses; views that take none are not named."""

OPEN = frozenset({"people.enter", "people.leave", "registration.register", "registration.resend_link"})
"""Views outside the rooms of `OPEN_ROOMS` that ask for no key."""

OPEN_ROOMS = frozenset({"health", "pages", "reference"})
