"""What runs: pools of Tritons, frontends, zones, how long starts take, and what goes wrong when."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from frontend.config.settings import Settings
from scripts.capacity.simulation.autoscaler import Scaling


@dataclass(frozen=True)
class PoolPlan:
    """Tritons of ``cores`` processors that have ``models``."""

    name: str
    models: Sequence[str]
    replicas: int
    cores: float = 2.0
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class Lags:
    """Seconds. A Triton that is new waits for a machine, its image and its models; one that died for its models.

    Kubernetes believes a silent machine to be lost after ``lost``, and puts its pods elsewhere after ``evicted`` more
    (node-monitor-grace-period, and the default toleration of not-ready). Frontends hear of a new address within
    ``resolve``.
    """

    node: float = 90.0
    image: float = 60.0
    load: float = 30.0
    lost: float = 50.0
    evicted: float = 300.0
    resolve: float = 1.0

    @property
    def start(self) -> float:
        return self.node + self.image + self.load


@dataclass(frozen=True)
class Fault:
    """At ``at`` seconds the process of a Triton of the pool ``pool`` dies, or the zone ``zone`` falls silent."""

    at: float
    pool: str = ""
    zone: str = ""


@dataclass(frozen=True)
class Deployment:
    """Frontends of ``frontend_cores`` processors; the settings are the product's own, with its defaults."""

    pools: Sequence[PoolPlan]
    frontends: int = 3
    frontend_cores: float = 2.0
    zones: Sequence[str] = ("a", "b", "c")
    settings: Settings = field(default_factory=Settings)
    scaling: Scaling = field(default_factory=lambda: Scaling(signal="none"))
    lags: Lags = field(default_factory=Lags)
    faults: Sequence[Fault] = ()
