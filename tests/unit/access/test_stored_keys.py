"""The keys in a database, for callers who may hang up."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import cast

from sqlalchemy.pool import QueuePool

from frontend.access.stored_keys import StoredKeys
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate


async def test_a_look_up_that_is_cancelled_leaves_no_connection(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/keys.sqlite3")
    await migrate(engine)
    stored, moments = StoredKeys(engine), random.Random(1)
    for _ in range(300):
        looked_up = asyncio.create_task(stored.find(["unknown"]))
        await asyncio.sleep(0.004 * moments.random())
        looked_up.cancel()
        with suppress(asyncio.CancelledError):
            await looked_up
        assert cast(QueuePool, engine.pool).checkedout() == 0
    await engine.dispose()
