"""What each parameter of the API is for, in the words of a person who sends it.

Keyed by name, or by the end of a path and a name where the same name means something else. A parameter whose own schema
describes it stands here only if there is more to say.
"""

from __future__ import annotations

from collections.abc import Mapping

BY_NAME: Mapping[str, str] = {
    "analysis_lease_id": "Your lease.",
    "attribution_name": "The name to give when the movie is used.",
    "course_id": "The course.",
    "course_name": "Its title; its id, if left out.",
    "credit_by_name": "Whether to name you when it is used.",
    "delete": "1 puts it away, 0 brings it back.",
    "description": "What the movie shows.",
    "emails": "The people.",
    "end_time": "The last moment that is wanted.",
    "format": "What to get.",
    "fpm": "Pictures that the camera took per minute.",
    "frame_count": "How many frames.",
    "frame_end": "The last frame to trace; the end of the trim, if left out.",
    "frame_number": "The frame, counted from 0.",
    "frame_start": "The source frame.",
    "get_all_if_tracking_completed": "All frames, if the movie is traced.",
    "job_id": "Which job is meant.",
    "keep_placed": "Keep points that a person placed on later frames.",
    "lease_request_key": "Names this wish to edit.",
    "log_user_id": "Events of this person.",
    "max_enrollment": "How many people may register themselves.",
    "movie_data_length": "Bytes of the file.",
    "movie_data_sha256": "SHA-256 of the file, 64 hexadecimal digits in lower case.",
    "movie_id": "The movie.",
    "new_label": "The name that the marker gets.",
    "old_label": "The name that the marker has.",
    "options": "Reserved.",
    "points": "0 leaves the positions out of the JSON, for whoever wants the results alone.",
    "property": "What to change.",
    "request_key": "Names your intent.",
    "research_use": "Whether researchers may use the movie.",
    "rotation": "0, 90, 180 or 270 degrees clockwise.",
    "set_movie_id": "The movie to change.",
    "set_user_id": "The user to change: yourself.",
    "start_time": "The first moment that is wanted.",
    "take_over": "Replace a lease that somebody holds.",
    "title": "What the movie is called.",
    "token": "What the link carries.",
    "trackpoints": "All points of the frame.",
    "trim_end_frame": "The last frame that counts.",
    "trim_start_frame": "The first frame that counts.",
    "user": "Id or e-mail address of the person.",
    "value": "What it becomes.",
}

BY_PLACE: Mapping[tuple[str, str], str] = {
    ("/acquire-movie-analysis-lease", "analysis_lease_id"): "The lease that this page had before it was reloaded.",
    ("/get-movie-metadata", "frame_start"): "The first frame that is wanted; goes with `frame_count`.",
    ("/get-receipt", "request_key"): "The key that you sent.",
    ("/get-logs", "course_id"): "Events of this course.",
    ("/get-logs", "movie_id"): "Events of this movie.",
    ("/static/{name}", "name"): "The file.",
}


def meaning(path: str, name: str) -> str:
    """What a parameter of a route is for; empty where only its schema tells."""
    return next(
        (said for (end, other), said in BY_PLACE.items() if other == name and path.endswith(end)),
        BY_NAME.get(name, ""),
    )
