"""The processor time that the probe counts."""

import os
import subprocess
import sys

from lab.probes.whisper_windows import _processor_seconds

_WORK = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_a_process_counts_with_its_children_also_with_those_that_have_ended() -> None:
    before = sum(_processor_seconds(os.getpid()).values())
    subprocess.run([sys.executable, "-c", _WORK], check=True)
    ended = _processor_seconds(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", f"{_WORK}print(flush=True)\ninput()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = _processor_seconds(os.getpid())
        child.communicate(b"\n")
    assert running[child.pid] >= 0.2
    assert sum(ended.values()) - before >= 0.2
    assert sum(running.values()) - sum(ended.values()) >= 0.2
    assert running[0] == ended[0]
