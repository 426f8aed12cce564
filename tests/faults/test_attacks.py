"""Some of the attacks, smaller, on the real product; all of them at their full size: python -m tests.faults.attacks"""

from urllib.parse import urlsplit

import pytest

from frontend.access import api_key
from frontend.commands.database import with_database
from scripts.run.stack import Stack
from tests.fakes import add_key
from tests.faults.attacks.cases import ATTACKS
from tests.faults.attacks.scene import FREE_SECONDS, PATIENCE, Scene, seconds_until_free

pytestmark = [pytest.mark.triton, pytest.mark.alone]


@pytest.fixture(scope="module")
def scene(stack: Stack) -> Scene:
    company, port = api_key.new_key(), urlsplit(stack.url).port
    assert port is not None
    with_database(stack._settings, lambda engine: add_key(engine, company, tier="company"))
    return Scene(port, stack.api_key, company, f"127.0.0.1:{stack.triton.ports.grpc}")


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("a malformed tensor among good ones", 0.25),
        ("three times 32 long texts, given up", 0.5),
        ("five files of two hours", 0.1),
        ("200 uploads dropped", 0.3),
        ("500 speeches dropped", 0.1),
        ("500 embeddings dropped", 0.1),
        ("500 rankings dropped", 0.1),
    ],
)
async def test_an_attack_keeps_nothing_and_makes_nobody_wait(
    stack: Stack, scene: Scene, name: str, scale: float
) -> None:
    scene.scale = scale
    scene.waits.clear()
    await ATTACKS[name](scene)
    assert await seconds_until_free(scene) < FREE_SECONDS
    assert stack.triton.alive()
    # One of them may meet a moment at which the machine is somebody else's.
    assert all(sorted(waits)[-2:][0] < PATIENCE for waits in scene.waits.values()), scene.waits
