"""Nobody reads the frontend's standard error: requests go on."""

import fcntl
import http.client
import os
from pathlib import Path

from tests.conftest import KEY, bearer
from tests.frontends import prepare, running

_PIPE_BYTES = 4096
# Several times what the pipe holds in lines.
_REQUESTS = 150


def test_requests_are_answered_though_nobody_reads_the_log(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    try:
        with running(prepare(tmp_path, LOG_LEVEL="INFO"), stderr=writing) as frontend:
            connection = http.client.HTTPConnection("127.0.0.1", frontend.port, timeout=10)
            for _ in range(_REQUESTS):
                connection.request("GET", "/v1/models", headers=bearer(KEY))
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200
            connection.close()
            frontend.process.terminate()
            assert frontend.process.wait(20) == 0
    finally:
        os.close(reading)
        os.close(writing)
