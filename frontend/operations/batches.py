"""A large batch of texts counts as so many requests under its caller's rate limit as it could have been."""

from aiohttp import web

from frontend.app_keys import CALLER, HEADERS, LIMITER, PATHS
from frontend.parameters.embeddings import MOST_INPUTS


async def count_batch(request: web.Request, texts: int) -> None:
    """Count a request, which was counted as one, once for each ``MOST_INPUTS`` texts. Raises ``RateLimited``."""
    name = request.app[PATHS].limit_of(request.path)
    if texts > MOST_INPUTS and name is not None:
        more = -(-texts // MOST_INPUTS) - 1
        request[HEADERS].update(await request.app[LIMITER].take_more(request[CALLER], name, more))
