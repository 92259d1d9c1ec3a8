"""Under which conditions a scene is filmed: every parameter of every scene, in one table.

Lengths are pixels of a 640 wide picture, light is a share of the full one, angles are radians, `every` is frames. What
happens per frame does not depend on the movie's length: a longer movie is not an easier one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The default is an undisturbed nodding shoot in a plain movie. See the comments for what each number does."""

    swing: float = 0.52  # how far the stem leans at its tip when it nods, radians
    pace: float = 1.5  # nods in 120 frames
    growth: float = 0.0  # by which share the stem lengthens in 120 frames, and half of it the leaves
    noise: float = 0.0  # standard deviation of the sensor's noise, gray levels, new in every frame
    flicker: float = 0.0  # half of it: standard deviation of the exposure's jumps; half: its slow swell
    shadow: float = 0.0  # light that a soft band takes away which wanders over the picture once in 50 frames
    night_every: int = 0  # day and night in turn, each of so many frames; night is infrared: darker, no colour
    shake: float = (
        0.0  # twice the standard deviation of the camera's place in every frame; it turns 0.07 degrees per pixel
    )
    jump: float = 0.0  # by which the camera is bumped aside, and stays, every `jump_every` frames
    jump_every: int = 45
    strangers_every: int = 0  # a leaf that does not belong to the plant passes the tip, or a leaf's marker, in turn
    defocus: float = 0.0  # standard deviation of the blur when the focus is at its worst, three times in 120 frames
    smear: float = 0.0  # longest motion blur: the whole picture smeared along a line, another one in every frame
    ringed: bool = False  # the stem's skin is the same ring again and again
    squared: bool = False  # the wall is covered with squared paper
    dropped: float = 0.0  # share of the frames before which 1 to 6 others are missing
    beside_ruler: bool = False  # the ruler stands where the shoot sweeps over it
    crf: int = 20  # x264's constant rate factor: 20 is what a phone does, 38 ruins textures
    card: bool = False  # two black frames and an application's promotion card, ten frames, at the end


CONDITIONS: dict[str, Conditions] = {
    "circumnutation": Conditions(),
    "gravitropism": Conditions(),
    "growth": Conditions(growth=0.55, swing=0.4),
    "noise": Conditions(noise=14.0),
    "flicker": Conditions(flicker=0.16, shadow=0.4),
    "daynight": Conditions(night_every=18, noise=3.0),
    "shake": Conditions(shake=9.0),
    "jump": Conditions(jump=34.0),
    "occlusion": Conditions(strangers_every=40),
    "blur": Conditions(defocus=1.8, smear=11.0),
    "texture": Conditions(ringed=True, squared=True),
    "dropped": Conditions(dropped=0.45),
    "compression": Conditions(crf=38),
    "sweep": Conditions(swing=0.9, pace=4.5, beside_ruler=True),
    "endcard": Conditions(card=True, growth=0.2),
    "combined": Conditions(
        noise=5.0,
        flicker=0.08,
        shadow=0.2,
        shake=2.5,
        jump=16.0,
        jump_every=60,
        strangers_every=60,
        defocus=0.8,
        smear=4.0,
        dropped=0.2,
        growth=0.2,
        crf=30,
        card=True,
    ),
}
"""Circumnutation and gravitropism are the two experiments; the others are a nodding shoot and what stumps trackers."""

PLAIN = ("circumnutation", "gravitropism")
"""Filmed as a laboratory would wish it, with the markers that a laboratory places."""
