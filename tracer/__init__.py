"""Follow markers through a movie. Knows nothing of users, leases or clouds; usable on its own.

media, frames, planes     open and decode a stranger's file; gray pictures to follow, colour to show
inspection, cuts          what a run through all frames tells
follow                    `Follower`: frames in, `FrameResult`s out; can be stopped and resumed anywhere
strategy, flow, hybrid    ways of following points: plain flow, checked flow, and the tracer's own
points, step, template,   the parts of the tracer's own: state, one frame's answer, remembered pictures,
memory, tiles, motion,    when to remember, flow on tiles, the camera's movement,
reacquire                 the search for lost points
geometry, measures, pace  pure arithmetic: coordinates; distance, rate, angle, amplitude, scale; timestamps
render, archive           the labelled movie; one JPEG per frame
report                    one page to look at: contact sheet, errors, lost stretches, results
synthetic, scenery,       movies with known truth
disturbances
model, errors             records and what can go wrong
"""
