"""Tritons come and go behind one DNS name while callers ask; ``python -m tests.faults.pools`` does so at full size."""

from pathlib import Path

import pytest

from tests.faults.pools import come_and_go

# A Triton that answers two probes late is out; while other tests run, a small machine is late at times.
pytestmark = pytest.mark.alone


async def test_tritons_come_and_go_and_no_request_is_lost(tmp_path: Path) -> None:
    assert (await come_and_go(tmp_path, 2)).faults == []
