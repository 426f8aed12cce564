"""A command that is interrupted ends without a traceback."""

import os
import signal
import socket
import subprocess
import sys

from tests.conftest import ROOT


def test_an_interrupted_command_says_nothing() -> None:
    """While it waits for a database that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        database = f"postgresql://quartet:x@127.0.0.1:{silent.getsockname()[1]}/quartet"
        run = subprocess.Popen(
            # A shell has whoever it starts in the background, and all below them, ignore the signal.
            ["env", "--default-signal=INT", sys.executable, "-m", "frontend", "keys", "list"],
            cwd=ROOT,
            env={**os.environ, "QUARTET_DATABASE": database},
            stderr=subprocess.PIPE,
        )
        connection, _ = silent.accept()
        # Its first words are sent: it waits for an answer.
        assert connection.recv(1)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
        connection.close()
    assert (run.returncode, said) == (130, b"")
