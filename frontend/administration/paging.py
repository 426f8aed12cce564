"""Pages of long lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from frontend.administration.names import MissingError


@dataclass(frozen=True)
class Page:
    """At most ``limit`` rows (None for all), after the row named ``after`` or from the start."""

    limit: int | None = None
    after: str | int | None = None
    newest_first: bool = False


EVERYTHING = Page()


async def fetch_page(
    connection: AsyncConnection, query: sa.Select[Any], page: Page, order: Sequence[sa.Column[Any]]
) -> sa.CursorResult[Any]:
    """Fetch one page of a query. The last column of ``order`` is a row's name.

    Raises ``MissingError`` if no row is named ``page.after``.
    """
    if page.after is not None:
        named = sa.select(*order).where(order[-1] == page.after)
        if (last := (await connection.execute(named)).one_or_none()) is None:
            raise MissingError("after names nothing that is listed", "after")
        named_row, own_row = sa.tuple_(*map(sa.literal, last, (column.type for column in order))), sa.tuple_(*order)
        query = query.where(own_row < named_row if page.newest_first else own_row > named_row)
    columns = [column.desc() for column in order] if page.newest_first else order
    rows: sa.CursorResult[Any] = await connection.execute(query.order_by(*columns).limit(page.limit))
    return rows
