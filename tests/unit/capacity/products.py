"""Products whose models take times that can be worked out in the head."""

import dataclasses

from scripts.capacity.fits import Fits, Line, ModelFit, RequestFit
from scripts.capacity.requests import MODEL_OF, OPERATIONS
from scripts.capacity.simulation.deployment import Deployment, Lags, PoolPlan

VOICE = MODEL_OF["speech"]
NOTHING = RequestFit(Line(), Line(), Line(), Line(), 0.0)


def fits(line: Line, instances: int = 1, cores: int = 1, batch: int = 1, delay: float = 0.0) -> Fits:
    """One voice, whose work is what its sentences say; requests take nothing besides."""
    voice = ModelFit("phonemes", line, 1.0, batch, delay, instances)
    return Fits({}, cores, 0.0, {VOICE: voice}, dict.fromkeys(OPERATIONS, NOTHING))


def deployment(replicas: int = 1, cores: float = 1.0, frontends: int = 1, **others: object) -> Deployment:
    """So many Tritons of the voice; starts take 10 s."""
    pool = PoolPlan("voices", [VOICE], replicas, cores, least=1, most=10)
    base = Deployment([pool], frontends, 100.0, ("a", "b"), lags=Lags(node=0.0, image=0.0, load=10.0))
    return dataclasses.replace(base, **others)  # type: ignore[arg-type]
