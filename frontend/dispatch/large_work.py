"""Large work of a model that is under way: more is begun only if all of it can end in time.

Keys share a model equally. Ten that each need half of their time would otherwise all be late, and the work be lost.
"""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(eq=False)
class LargeWork:
    """What is ``left`` of the work of a key, in the model's unit; ``deadline`` is in loop seconds."""

    priority: int
    deadline: float
    left: float


def seconds_late(begun: Collection[LargeWork], new: LargeWork, now: float, seconds: float) -> float:
    """How late ``new`` work would end, or would make other work of its priority end, that else ends in time.

    0 if none. A unit of work takes ``seconds``. Each key has a share until its work ends.
    """
    before = sum(each.left for each in begun if each.priority < new.priority)
    equal = [each for each in (*begun, new) if each.priority == new.priority]
    late = 0.0
    for place, each in enumerate(sorted(equal, key=lambda each: each.left)):
        # The others have had as much, or have ended.
        end = now + seconds * (before + each.left * (len(equal) - place))
        before += each.left
        without = end if each is new else end - seconds * min(each.left, new.left)
        if each is new or without <= each.deadline:
            late = max(late, end - each.deadline)
    return late
