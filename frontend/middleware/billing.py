"""What it costs: reserved before the work, charged as the answer goes out, and for answers that go out alone."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.http.answers import deliver
from frontend.http.arrival import CONTENT
from frontend.keys import BILL, CALLER, HOLDING, RECORDER, SETTINGS, TURN
from frontend.observe import request_id
from frontend.usage.bill import Bill
from frontend.usage.events import Identity


@web.middleware
async def billing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every request of a known caller has a bill; most of what is asked stays off it."""
    if CALLER not in request:
        return await handler(request)

    def identity() -> Identity:
        return Identity(request_id.get(), request.path, request[CONTENT])

    app, caller = request.app, request[CALLER]
    with Bill(app[RECORDER], app[SETTINGS].prices, caller, request[TURN], identity) as request[BILL]:
        bill = request[BILL]
        answer = await handler(request)
        if isinstance(answer, web.Response) and isinstance(answer.body, bytes | bytearray):
            answer = await deliver(request, answer, bill, request[HOLDING], app[SETTINGS])
        if bill.open:
            raise RuntimeError("an answer that has a price went out without being charged")
        return answer
