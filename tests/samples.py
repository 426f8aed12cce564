"""Values of this process's metrics, and their changes."""

from prometheus_client import REGISTRY


def value(name: str, **labels: str) -> float:
    """The value of one series; 0 if it does not exist yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def total(name: str, **labels: str) -> float:
    """The sum over all series of that name that have these labels."""
    return sum(
        sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


class Change:
    """``by`` is the change of a sum since this object was made."""

    def __init__(self, name: str, **labels: str) -> None:
        self._name, self._labels = name, labels
        self._before = total(name, **labels)

    @property
    def by(self) -> float:
        return total(self._name, **self._labels) - self._before
