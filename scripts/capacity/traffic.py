"""Who calls when, and for how much: users, the curve of a day, bursts, operations with their sizes, tiers.

All that is assumed stands here as a default, and is an option of the command.
"""

import functools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.catalogue.voices import VOICES
from frontend.config.tables import LEVELS
from scripts.capacity.requests import Request

DAY = 86_400.0
# The first first; the last, for bulk work, has what the others leave, and nobody waits for it.
TIERS = tuple(sorted(LEVELS, key=LEVELS.__getitem__))[:-1]
# Of the sentences of make bench: each sound is followed by a pad.
IDS_PER_CHARACTER = 2.1
SENTENCE_CHARACTERS = 75
# Tokens of a text of a call for vectors, and of a pair of query and document.
_TEXT_TOKENS, _PAIR_TOKENS = 100.0, 160.0
# Of the logarithm of sizes: a tenth of all are less than half, and a tenth more than twice, of the middle.
_SPREAD = 0.55


@dataclass(frozen=True)
class Share:
    """An operation's part of all calls, and the mean size of one: tokens, characters or seconds of audio."""

    part: float
    size: float


@dataclass(frozen=True)
class Traffic:
    """``users``, of whom the part ``active`` makes so many ``calls`` a day.

    The busiest moment of a day has ``peak`` times the mean. ``bursty`` of all calls come in bursts of ``burst`` within
    a second, of one key. ``tiers`` are parts of all calls, from the first tier to the last; so many ``users_per_key``
    share a key.
    """

    users: float
    active: float = 0.1
    calls: float = 20.0
    peak: float = 3.0
    bursty: float = 0.1
    burst: int = 20
    shares: Mapping[str, Share] = field(
        default_factory=lambda: {
            EMBEDDINGS: Share(0.5, 200.0),
            RERANK: Share(0.1, 3200.0),
            SPEECH: Share(0.2, 150.0),
            TRANSCRIPTIONS: Share(0.2, 10.0),
        }
    )
    tiers: tuple[float, ...] = (0.1, 0.3, 0.6)
    users_per_key: float = 1000.0

    @property
    def mean_rate(self) -> float:
        """Calls a second over a day."""
        return self.users * self.active * self.calls / DAY

    @property
    def peak_rate(self) -> float:
        """Calls a second at the busiest moment."""
        return self.mean_rate * self.peak

    def rate(self, seconds: float) -> float:
        """Calls a second so long after midnight; noon is the busiest moment.

        The curve is a raised cosine to the power that makes the mean of a day 1.
        """
        if self.peak == 1:
            return self.mean_rate
        phase = (1 - math.cos(2 * math.pi * seconds / DAY)) / 2
        return float(self.peak_rate * phase ** _power(self.peak))


@functools.cache
def _power(peak: float) -> float:
    """The p for which sin^2p has the mean 1/peak over its period: gamma(p + 1/2) / (sqrt(pi) gamma(p + 1))."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        mean = math.exp(math.lgamma(middle + 0.5) - math.lgamma(middle + 1)) / math.sqrt(math.pi)
        low, high = (middle, high) if mean > 1 / peak else (low, middle)
    return low


@dataclass(frozen=True)
class Arrival:
    """A call at ``at`` seconds after midnight, of a key of a tier, 1 to 3."""

    at: float
    request: Request
    key: int
    tier: int


def arrivals(traffic: Traffic, start: float, seconds: float, seed: int, window: float) -> Iterator[Arrival]:
    """The calls of a traffic in a part of a day by time, the same for the same seed; ``window`` is that of speech.

    A Poisson process whose rate changes, by thinning (Lewis and Shedler, 1979), with bursts in it.
    """
    rng, at, shares = random.Random(seed), start, traffic.shares
    all_keys = max(1, round(traffic.users / traffic.users_per_key))
    keys = {tier: max(1, round(all_keys * part)) for tier, part in enumerate(traffic.tiers, 1)}
    events = 1 - traffic.bursty + traffic.bursty / traffic.burst
    late: list[Arrival] = []
    while (at := at + rng.expovariate(traffic.peak_rate * events)) < start + seconds:
        if rng.random() * traffic.peak_rate > traffic.rate(at % DAY):
            continue
        late.sort(key=lambda arrival: -arrival.at)
        while late and late[-1].at <= at:
            yield late.pop()
        tier = rng.choices((1, 2, 3), traffic.tiers)[0]
        key = 1000 * rng.randrange(keys[tier]) + tier
        is_burst = rng.random() < traffic.bursty / traffic.burst / events
        operation = rng.choices(list(shares), [share.part for share in shares.values()])[0]
        ask = functools.partial(_request, rng, operation, shares[operation].size, window)
        if is_burst:
            late += [Arrival(at + rng.random(), ask(), key, tier) for _ in range(traffic.burst)]
        else:
            yield Arrival(at, ask(), key, tier)
    yield from sorted(late, key=lambda arrival: arrival.at)


def _request(rng: random.Random, operation: str, mean: float, window: float) -> Request:
    size = rng.lognormvariate(math.log(mean) - _SPREAD**2 / 2, _SPREAD)
    if operation == SPEECH:
        first, *rest = _even(size * IDS_PER_CHARACTER, SENTENCE_CHARACTERS * IDS_PER_CHARACTER)
        voice = f"piper_{rng.choice(list(VOICES))}"
        return Request(operation, size, (first,), tuple(rest), voice)
    if operation == TRANSCRIPTIONS:
        # A window takes as long as a whole one where the model pads it to that.
        return Request(operation, size, (window,) * math.ceil(size / window))
    part = _TEXT_TOKENS if operation == EMBEDDINGS else _PAIR_TOKENS
    return Request(operation, size, tuple(_even(size, part)))


def _even(size: float, part: float) -> list[float]:
    """As many equal parts as come nearest to ``part``."""
    count = max(1, round(size / part))
    return [max(1.0, size / count)] * count
