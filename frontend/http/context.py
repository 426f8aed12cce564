"""What a request has from its middlewares, for whoever reads its body or delivers its answer."""

from aiohttp import web

from frontend.config.settings import Settings
from frontend.dispatch.model_queue import Turn
from frontend.http.held import Holding

SETTINGS = web.AppKey("settings", Settings)
HOLDING = web.RequestKey("holding", Holding)
TURN = web.RequestKey("turn", Turn)
