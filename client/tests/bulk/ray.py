"""Ray as bulk work meets it: actors are threads, made of what could be sent to another process."""

import os
import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace
from typing import Any


class RayError(Exception):
    """A cluster that fails."""


class _Dataset:
    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def map_batches(self, actor: Any, *, compute: SimpleNamespace, **given: Any) -> "_Dataset":
        """Lazy, as Ray's own."""
        self._actor, self._compute, self._given = actor, compute, given
        return self

    def iter_rows(self) -> Iterator[dict[str, Any]]:
        assert self._given["batch_size"] == 1
        rows, told, lock = iter(self._rows), list[dict[str, Any]](), threading.Lock()
        sent = pickle.dumps((self._actor, self._given["fn_constructor_kwargs"]))

        def work() -> None:
            kind, given = pickle.loads(sent)
            actor = kind(**given)
            while True:
                with lock:
                    row = next(rows, None)
                if row is None:
                    return
                told.append(actor({name: [value] for name, value in row.items()}))

        with ThreadPoolExecutor(self._compute.size) as threads:
            for done in [threads.submit(work) for _ in range(self._compute.size)]:
                done.result()
        yield from ({name: value for name, (value,) in one.items()} for one in told)


class FakeRay(ModuleType):
    """To stand in ``sys.modules``; ``failure`` is what comes of the wish to join the cluster."""

    def __init__(self, nodes: int) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.failure: Exception | None = None
        self.joined: list[Mapping[str, Any]] = []
        self.environ: Mapping[str, str] = {}
        self.left = 0
        self.count = nodes
        self.data = ModuleType("ray.data")
        vars(self.data).update(
            DataContext=SimpleNamespace(get_current=SimpleNamespace),
            ActorPoolStrategy=SimpleNamespace,
            from_items=lambda rows, override_num_blocks: _Dataset(rows),
        )

    def init(self, **given: Any) -> None:
        self.joined.append(given)
        self.environ = dict(os.environ)
        if self.failure is not None:
            raise self.failure

    def nodes(self) -> list[Mapping[str, bool]]:
        return [*({"Alive": True} for _ in range(self.count)), {"Alive": False}]

    def shutdown(self) -> None:
        self.left += 1
