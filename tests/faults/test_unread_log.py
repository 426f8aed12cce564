"""Nobody reads the frontend's standard error: requests go on."""

import http.client
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from tests.conftest import KEY, ROOT
from tests.frontends import prepare

# Four times what a pipe holds in lines.
_REQUESTS = 1500


def test_requests_are_answered_though_nobody_reads_the_log(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    environ = {**os.environ, **prepare(tmp_path, PORT=0)}
    command = [sys.executable, "-m", "tests.fake_frontend"]
    try:
        with subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=writing, text=True
        ) as process:
            assert process.stdout is not None
            connection = http.client.HTTPConnection(urlsplit(process.stdout.readline().strip()).netloc, timeout=10)
            for _ in range(_REQUESTS):
                connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {KEY}"})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200
            connection.close()
            process.terminate()
            assert process.wait(20) == 0
    finally:
        os.close(reading)
        os.close(writing)
