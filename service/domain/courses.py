"""What a course may be called, and who somebody is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from service.domain.errors import InvalidParameter

COURSE_KEY_LENGTH = 10
"""Characters of the key that students register with: short enough to be typed, 2**40 of them."""
_MAX_NAME = 200
_COURSE_ID = re.compile(r"[^\x00-\x20\x7f/\\?#](?:[^\x00-\x1f\x7f/\\?#]{0,98}[^\x00-\x20\x7f/\\?#])?\Z")


def checked_course_id(course_id: str) -> str:
    """The id of a new course, trimmed: free text that can stand in an address. Raises InvalidParameter."""
    clean = course_id.strip()
    if not _COURSE_ID.fullmatch(clean):
        raise InvalidParameter(
            "course_id", "must have 1 to 100 characters, none of them a control character or / \\ ? #"
        )
    return clean


def checked_course_name(name: str) -> str:
    """A course's title, trimmed, in one line. Raises InvalidParameter."""
    clean = name.strip()
    if not 1 <= len(clean) <= _MAX_NAME or any(ord(c) < 32 or ord(c) == 127 for c in clean):
        raise InvalidParameter("course_name", f"must have 1 to {_MAX_NAME} characters in one line")
    return clean


def shown_course(course: Mapping[str, Any], *, administers: bool) -> dict[str, Any]:
    """A stored course as people see it; its key is for those who may let others in."""
    told: dict[str, Any] = {
        "course_id": course["course_id"],
        "course_name": course.get("course_name", ""),
        "course_admin": administers,
    }
    if administers:
        told |= {name: course[name] for name in ("course_key", "max_enrollment", "enrolled") if name in course}
    return told


def shown_user(user: Mapping[str, Any]) -> dict[str, Any]:
    """A stored user as those see him who may: no attribute that was not named here."""
    return {
        "user_id": user["user_id"],
        "user_name": user.get("user_name") or "",
        "email": user.get("email", ""),
        "primary_course_id": user.get("primary_course_id", ""),
        "courses": sorted(user.get("courses") or ()),
        "admin_of": sorted(user.get("admin_of") or ()),
        "roles": sorted(role for role in ("superadmin", "superauditor") if user.get(role)),
        "enabled": bool(user.get("enabled", 1)),
        "created": int(user.get("created") or 0),
    }
