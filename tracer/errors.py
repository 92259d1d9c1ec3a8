"""What can go wrong with a movie, as exceptions that carry a stable code and the numbers of the fixed sentence.

MovieError
├── UnreadableMovie     no demuxer of the allow list reads the file
├── NoPicture           sound or data only
├── UnsupportedCodec    a picture is there, but nothing on this machine decodes it
├── TooManyPixels       a frame is larger than the limit; found before decoding
├── TooManyFrames       more frames than the limit
├── MovieCutOff         the file ends (or breaks) before the frames that were asked for
└── NoMarkers           nothing to follow on the source frame

The text of an exception never holds a path, a URL or a decoder's own message: a service may show it to anyone.
"""

from __future__ import annotations

from typing import Any, ClassVar


class MovieError(Exception):
    """The movie cannot be read."""

    code: ClassVar[str] = "movie_unreadable"

    def __init__(self, **numbers: int) -> None:
        """`numbers` are the whole numbers that the sentence for a person names, for example `frames=212`."""
        self.numbers = numbers
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """The class docstring's first paragraph, with the numbers filled in."""
        first = (type(self).__doc__ or "").strip().split("\n\n")[0]
        return " ".join(first.split()).format(**self.numbers)

    def __reduce__(self) -> tuple[Any, ...]:  # keyword-only numbers must survive the way back from a child process
        return (_rebuild, (type(self), self.numbers))


def _rebuild(kind: type[MovieError], numbers: dict[str, int]) -> MovieError:
    return kind(**numbers)


class UnreadableMovie(MovieError):
    """This file cannot be read as a movie. It may be damaged or cut off; export it again as MP4 and upload that."""

    code = "movie_unreadable"


class NoFrames(UnreadableMovie):
    """None of the {promised} frames that this file promises can be read; it looks cut off. Export it again as MP4 and
    upload that.
    """

    code = "movie_no_frames"


class NoPicture(MovieError):
    """This file has sound but no picture. Choose the movie itself."""

    code = "movie_no_picture"


class UnsupportedCodec(MovieError):
    """The picture in this file is coded in a way that cannot be decoded here. Export it as MP4 (H.264) and upload
    that.
    """

    code = "movie_codec"


class TooManyPixels(MovieError):
    """Each frame of this movie is {width} x {height} pixels, more than the {limit} million allowed. Export a smaller
    one.
    """

    code = "movie_too_many_pixels"


class TooManyFrames(MovieError):
    """This movie has more than the {limit} frames allowed. Trim it or take fewer pictures per minute."""

    code = "movie_too_many_frames"


class MovieCutOff(MovieError):
    """The movie ends after frame {last} of {promised}: it looks cut off. Upload it again, or trim it to the part that
    can be read.
    """

    code = "movie_cut_off"


class NoMarkers(MovieError):
    """There are no markers on frame {frame}. Place at least one and trace again."""

    code = "no_markers"
