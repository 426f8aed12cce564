"""A sweep that a signal ends leaves the model as it was."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scripts.run.signals import INTERRUPTED
from tests.conftest import ROOT

# A sweep without servers, whose model takes a while to load. Another thread receives the signals: for the event loop it
# is as if each came just before it waits, where nothing interrupts the wait.
_SWEEP = """
import asyncio, signal, sys, threading
from scripts.benchmark.product import tune

class Control:
    def __init__(self, *given): pass
    async def config(self): return {}
    async def load(self, config):
        print("loads", flush=True)
        await asyncio.sleep(float(sys.argv[3]))
        print("loaded", flush=True)
        return ""

async def measure(*given):
    print("measures", flush=True)
    await asyncio.sleep(60)

async def served(*given): pass

tune.Control, tune._measure, tune._until_served = Control, measure, served
parse = tune.argparse.ArgumentParser.parse_args
tune.argparse.ArgumentParser.parse_args = lambda parser: parse(parser, sys.argv[1:3])
tune.combinations = lambda *given: []
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
sys.exit(tune.main())
"""


@contextmanager
def _begun(seconds: float) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", _SWEEP, "--url=http://127.0.0.1:1/v1", "--triton=http://127.0.0.1:1", str(seconds)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
        try:
            assert begun.stdout is not None
            assert begun.stdout.readline() == "measures\n"
            yield begun
        finally:
            begun.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("terminal", [True, False], ids=["", "whose terminal is gone"])
def test_a_sweep_that_a_signal_ends_loads_the_model_as_before(number: signal.Signals, terminal: bool) -> None:
    with _begun(0.2) as sweep:
        assert sweep.stderr is not None
        if not terminal:
            sweep.stderr.close()
            sweep.stderr = None
        sweep.send_signal(number)
        said, _ = sweep.communicate(timeout=60)
        assert (said, sweep.returncode) == ("loads\nloaded\n", INTERRUPTED)


def test_a_second_signal_ends_it_at_once_and_was_told_what_that_does() -> None:
    with _begun(60) as sweep:
        assert sweep.stdout is not None
        sweep.send_signal(signal.SIGINT)
        assert sweep.stdout.readline() == "loads\n"
        began = time.monotonic()
        sweep.send_signal(signal.SIGINT)
        _, said = sweep.communicate(timeout=60)
        assert time.monotonic() - began < 3
        assert (said, sweep.returncode) == ("loading m3_embedder as before; Ctrl-C leaves it as it is\n", INTERRUPTED)
