"""The application: its middlewares, routes and parts."""

import operator
from collections.abc import Iterator
from functools import partial, reduce

from aiohttp import web

from frontend import app_keys as keys
from frontend.catalogue.endpoints import CORE
from frontend.catalogue.exports import read_exports
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS
from frontend.catalogue.version import VERSION
from frontend.config.settings import Settings
from frontend.discovery.discovery import Connect
from frontend.http.arrival import defer_continue
from frontend.middleware.access_log import access_log_middleware
from frontend.middleware.auth import auth_middleware
from frontend.middleware.billing import billing_middleware
from frontend.middleware.context import context_middleware
from frontend.middleware.cors import cors_middleware
from frontend.middleware.errors import errors_middleware
from frontend.middleware.headers import add_headers
from frontend.middleware.limits import limits_middleware
from frontend.middleware.ports import ports_middleware
from frontend.middleware.query import query_middleware
from frontend.observe.metrics import BUILD, MODEL_EXPORT
from frontend.operations.embeddings import handler as embeddings
from frontend.operations.rerank import handler as rerank
from frontend.operations.speech import handler as speech
from frontend.operations.status import health, metrics, models
from frontend.operations.transcription import handler as transcription
from frontend.parts import run_parts
from frontend.rings import rings_of
from frontend.tritons.triton import Triton


def _routes(settings: Settings) -> Iterator[web.RouteDef]:
    """The routes of the operations and of their state."""
    by_operation = {
        TRANSCRIPTIONS: transcription.ROUTES,
        SPEECH: speech.ROUTES,
        EMBEDDINGS: embeddings.ROUTES,
        RERANK: rerank.ROUTES,
    }
    for operation in settings.operations:
        yield from by_operation.get(operation, ())
    yield from (*health.ROUTES, *models.ROUTES, *metrics.ROUTES)


def create_app(settings: Settings, connect: Connect | None = None) -> web.Application:
    """Assemble the application, which starts nothing yet. ``connect`` creates the client of a Triton."""
    connect = connect or partial(Triton, secret=settings.triton_secret)
    rings = rings_of(settings)
    app = web.Application(
        middlewares=[
            access_log_middleware,  # adds the request id to every answer, refusals included
            errors_middleware,  # turns exceptions into answers
            *(middleware for ring in rings for middleware in ring.middlewares),
            ports_middleware,
            cors_middleware,  # before authentication: browsers send preflight requests without a key
            auth_middleware,  # before any body is read
            limits_middleware,
            query_middleware,
            context_middleware,
            billing_middleware,
        ],
        client_max_size=settings.max_body_bytes,
    )
    BUILD.labels(VERSION).set(1)
    app[keys.SETTINGS], app[keys.RINGS], app[keys.LISTED_MODELS] = settings, rings, []
    app[keys.PATHS] = reduce(operator.or_, (ring.paths for ring in rings), CORE)
    app[keys.EXPORTS] = read_exports(settings.model_repository, settings.served.triton_models)
    for model, export in app[keys.EXPORTS].items():
        if export.way:
            MODEL_EXPORT.labels(model, export.way, ",".join(export.skipped_ways)).set(1)
    app[metrics.METRICS], app[transcription.OTHER_FORMS], app[speech.STREAMS] = metrics.MetricsPage(), {}, {}
    app[embeddings.OTHER_OUTPUTS] = {}
    app.cleanup_ctx.append(partial(run_parts, connect=connect))
    app.on_response_prepare.append(add_headers)
    every = [*_routes(settings), *(route for ring in rings for route in ring.routes(settings))]
    # The key is checked before a body is asked for.
    app.add_routes(
        [
            web.route(each.method, each.path, each.handler, expect_handler=defer_continue, **each.kwargs)
            for each in every
        ]
    )
    return app
