"""What the parent writes is what the workers read."""

import struct

import pytest

from frontend.processes.status import SharedStatus, WorkerCounts


def test_what_was_written_last_is_read() -> None:
    status = SharedStatus.new()
    with pytest.raises(struct.error):
        status.read()
    for counts in (WorkerCounts(3), WorkerCounts(3, accepting=2, leaving=1, restarts=70_000, failing=1)):
        status.write(counts)
        assert SharedStatus(status.descriptor).read() == counts
    status.close()
