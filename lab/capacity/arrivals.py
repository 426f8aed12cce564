"""The calls at the peak of a traffic, and the work of each."""

import functools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from frontend.catalogue.models import EMBEDDINGS, SPEECH, TRANSCRIPTIONS
from frontend.catalogue.voices import VOICES
from scripts.capacity.traffic import IDS_PER_CHARACTER, MODEL_OF, SENTENCE_CHARACTERS, Traffic

# Tokens of a text to embed, and of a pair of query and document.
_TEXT_TOKENS, _PAIR_TOKENS = 100.0, 160.0
# Sigma of the logarithm of sizes: a tenth are below half of the median, and a tenth above twice the median.
_SPREAD = 0.55
# The share of calls in bursts, the calls of a burst (within a second), and the share of each tier.
_BURSTY, _BURST_CALLS = 0.1, 20
_TIERS = (0.1, 0.3, 0.6)
_USERS_PER_KEY = 1000.0


@dataclass(frozen=True)
class Request:
    """``units`` are tokens, characters or seconds of audio.

    ``parts`` is the work of its calls: tokens of texts or pairs, phoneme ids of sentences, seconds of windows.
    ``voice`` is the model of a voice other than the default.
    """

    operation: str
    units: float
    parts: tuple[float, ...]
    voice: str = ""

    @property
    def model(self) -> str:
        return self.voice or MODEL_OF[self.operation]


@dataclass(frozen=True)
class Arrival:
    """A call ``at`` seconds after the start, by a key of a tier (1 to 3)."""

    at: float
    request: Request
    key: int
    tier: int


def arrivals(traffic: Traffic, seconds: float, seed: int, window: float) -> Iterator[Arrival]:
    """Poisson arrivals at the peak's rate with bursts, in order of time; ``window`` is in seconds."""
    rng, at, shares = random.Random(seed), 0.0, traffic.shares
    all_keys = max(1, round(traffic.users / _USERS_PER_KEY))
    keys = {tier: max(1, round(all_keys * part)) for tier, part in enumerate(_TIERS, 1)}
    bursts = _BURSTY / _BURST_CALLS
    events = 1 - _BURSTY + bursts
    late: list[Arrival] = []
    while (at := at + rng.expovariate(traffic.peak_rate * events)) < seconds:
        late.sort(key=lambda arrival: -arrival.at)
        while late and late[-1].at <= at:
            yield late.pop()
        tier = rng.choices((1, 2, 3), _TIERS)[0]
        key = 1000 * rng.randrange(keys[tier]) + tier
        operation = rng.choices(list(shares), [share.part for share in shares.values()])[0]
        ask = functools.partial(_request, rng, operation, shares[operation].size, window)
        if rng.random() < bursts / events:
            late += [Arrival(at + rng.random(), ask(), key, tier) for _ in range(_BURST_CALLS)]
        else:
            yield Arrival(at, ask(), key, tier)
    yield from sorted(late, key=lambda arrival: arrival.at)


def _request(rng: random.Random, operation: str, mean: float, window: float) -> Request:
    size = rng.lognormvariate(math.log(mean) - _SPREAD**2 / 2, _SPREAD)
    if operation == SPEECH:
        sentences = _even(size * IDS_PER_CHARACTER, SENTENCE_CHARACTERS * IDS_PER_CHARACTER)
        return Request(operation, size, tuple(sentences), f"piper_{rng.choice(list(VOICES))}")
    if operation == TRANSCRIPTIONS:
        # Whisper pads every window to its full length.
        return Request(operation, size, (window,) * math.ceil(size / window))
    part = _TEXT_TOKENS if operation == EMBEDDINGS else _PAIR_TOKENS
    return Request(operation, size, tuple(_even(size, part)))


def _even(size: float, part: float) -> list[float]:
    """Equal parts of about ``part`` each."""
    count = max(1, round(size / part))
    return [max(1.0, size / count)] * count
