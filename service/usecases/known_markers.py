"""The markers of a movie, also of one whose marker map nobody has written yet."""

from __future__ import annotations

from service.domain.markers import MarkerMap, with_markers_of
from service.domain.movie import ORIGIN, Movie, frame_shows
from service.store.stores import Stores
from service.store.table import Write


async def known_markers(stores: Stores, movie: Movie, stored: MarkerMap | None = None) -> tuple[MarkerMap, list[Write]]:
    """The marker map, and the write (or none) that puts it into the store if it was not there.

    `stored`: the map as it is in the store, if the caller has read it already.

    The older service kept no map: its points carry their labels. Then the map is made of the labels of all frames, and
    whoever changes anything of the movie writes it in the same transaction: what this service stores names markers by
    their ids alone.
    """
    if stored is None:
        stored = await stores.frames.markers(movie.movie_id)
    if stored or movie.row.get("trackpoint_origin") == ORIGIN:
        return stored, []
    made: MarkerMap = {}
    async for item in stores.frames.span(movie.movie_id, 0, max(0, movie.total_frames - 1), consistent=True):
        made = with_markers_of(frame_shows(movie, item, made), made)
    return made, [stores.frames.marker_map_write(movie.movie_id, made)] if made else []
