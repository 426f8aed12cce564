"""Who is served when everything is full: python -m lab.probes.tiers

Callers of every tier, and one whose organisation has a floor, want more of one voice than a Triton has slots for; then
two equal keys do, one of them with four times as many callers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frontend.access.registry import Registry
from frontend.commands.database import with_registry
from frontend.config.settings import Settings
from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.load import Sample, closed, connected
from scripts.benchmark.common.output import head, line
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product

_MODEL = "piper_amy"
_FLOOR, _SECONDS = 2, 30.0
_HEAD = ("key", "tier", "callers", "answers", "share", "median s", "p95 s", "failed")
_CONFIG = f"[floors.{_MODEL}]\nfloor = {_FLOOR}\n"
# Long enough that the model, not the way to it, is what everybody waits for.
_SENTENCE = "Every tier is served in its turn and nobody waits for ever " * 5
_CALL = Call("/audio/speech", 1, {"input": _SENTENCE, "voice": "amy"})


@dataclass(frozen=True)
class Group:
    """A key of a tier and how many callers share it."""

    name: str
    tier: str
    callers: int


TIERS = (Group("company", "company", 8), Group("pro", "pro", 8), Group("free", "free", 8))
FLOOR = (Group("floor", "company", _FLOOR), Group("flood", "company", 32))
EQUALS = (Group("few", "pro", 8), Group("many", "pro", 32))


def _keys(target: Target, groups: Sequence[Group]) -> Mapping[Group, str]:
    async def make(registry: Registry) -> dict[Group, str]:
        made = {}
        for group in groups:
            await registry.create_org(group.name, None)
            made[group] = await registry.create(group.name, group.tier, group.name, {}, None)
        return made

    return with_registry(Settings(database=target.database), make)


async def _answers(target: Target, key: str, callers: int) -> list[Sample]:
    async with connected(target.address, key) as client:
        return await closed(client, [_CALL], callers, _SECONDS)


def _measure(target: Target, title: str, groups: Sequence[Group]) -> None:
    keys = _keys(target, groups)

    async def together() -> list[list[Sample]]:
        return await asyncio.gather(*(_answers(target, keys[group], group.callers) for group in groups))

    print(f"\n{title}\n{head(_HEAD)}")
    found = asyncio.run(together())
    every = sum(len(samples) for samples in found)
    for group, samples in zip(groups, found, strict=True):
        its = summary(samples)
        times = (f"{its.percentile(name):.2f}" for name in ("p50", "p95"))
        shared = (group.name, group.tier, group.callers, its.calls, f"{its.calls / every:.0%}")
        print(line((*shared, *times, its.failed)), flush=True)


if __name__ == "__main__":
    with own_product(config=_CONFIG) as started:
        _measure(started, "Three tiers", TIERS)
        _measure(started, f"A floor of {_FLOOR} slots, and a flood of the same tier", FLOOR)
        _measure(started, "Two equal keys", EQUALS)
