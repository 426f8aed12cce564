"""What it costs: charged as the last byte of an answer goes out, and for answers that go out alone."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.body import CONTENT
from frontend.keys import BILL, CALLER, RECORDER, SETTINGS, TURN
from frontend.observe import request_id
from frontend.usage.bill import Bill


@web.middleware
async def billing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every request of a known caller has a bill; most of what is asked stays off it."""
    if CALLER not in request:
        return await handler(request)
    bill = Bill(request.app[RECORDER], request.app[SETTINGS].prices, request[CALLER], request[TURN].deadline)
    request[BILL] = bill
    try:
        response = await handler(request)
        if bill.open and isinstance(response, web.Response) and isinstance(response.body, bytes):
            return await _deliver(request, response, response.body, bill)
        return response
    finally:
        bill.close()


async def _deliver(request: web.Request, response: web.Response, body: bytes, bill: Bill) -> web.StreamResponse:
    """Send all but the last byte, charge, send the last byte.

    A process that dies at any moment has so either charged for an answer that is whole, or for none. Between the two
    lie a few microseconds in which it is charged and not out: a client that repeats its request under the same id is
    not charged again.
    """
    answer = web.StreamResponse(status=response.status, headers=response.headers)
    answer.content_length = len(body)
    transport = request.transport
    if transport is None:
        return response
    # What is written goes to the kernel now, not at the end of the event loop's round.
    transport.set_write_buffer_limits(0)
    await answer.prepare(request)
    try:
        if len(body) > 1:
            await answer.write(body[:-1])
            await request.writer.drain()
        bill.charge(request_id.get(), request.path, request[CONTENT])
        await answer.write_eof(body[-1:])
    except ConnectionError:
        bill.take_back()
    except BaseException:
        bill.take_back()
        # The answer has begun: all that can still tell the client is a connection that breaks off.
        transport.abort()
        raise
    else:
        bill.confirm()
    return answer
