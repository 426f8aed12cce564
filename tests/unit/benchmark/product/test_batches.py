"""What is read of a frontend's metrics while a model is under load."""

from aiohttp import web

from scripts.benchmark.product.batches import Batches, read, watched
from scripts.local_triton.checks import free_port

_TEXT = """# TYPE quartet_in_flight gauge
quartet_in_flight{{pool="a",model="m3_embedder",tier="free"}} {free}
quartet_in_flight{{pool="a",model="m3_embedder",tier="bulk"}} 1.0
quartet_in_flight{{pool="a",model="m3_reranker",tier="free"}} 9.0
# TYPE quartet_in_flight_bound gauge
quartet_in_flight_bound{{pool="a",model="m3_embedder"}} 8.0
quartet_in_flight_bound{{pool="b",model="m3_embedder"}} 4.0
# TYPE quartet_in_flight_per_triton gauge
quartet_in_flight_per_triton{{model="m3_embedder"}} 3.0
# TYPE quartet_batch_work gauge
quartet_batch_work{{model="m3_embedder"}} 1536.0
# TYPE quartet_batch_fill_ratio histogram
quartet_batch_fill_ratio_bucket{{model="m3_embedder",le="+Inf"}} 40.0
quartet_batch_fill_ratio_count{{model="m3_embedder"}} 40.0
quartet_batch_fill_ratio_sum{{model="m3_embedder"}} {fill}
"""


def _seen(*looks: tuple[float, float]) -> Batches:
    return Batches([read(_TEXT.format(free=free, fill=fill), "m3_embedder") for free, fill in looks])


def test_the_series_of_a_model_are_summed() -> None:
    its = _seen((3, 10))
    assert (its.in_flight, its.bound, its.work) == (4, 12, 1536)


def test_calls_in_flight_are_the_mean_of_all_polls_and_fill_is_between_first_and_last() -> None:
    its = _seen((3, 10), (5, 14), (4, 18))
    assert (its.in_flight, its.fill(executions=10)) == (5, 0.8)


def test_without_polls_there_are_no_figures() -> None:
    its = Batches()
    assert (its.in_flight, its.bound, its.work, its.fill(1)) == (None, None, None, None)
    assert _seen((3, 10), (3, 12)).fill(executions=0) is None


async def test_metrics_are_looked_at_before_and_after() -> None:
    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=_TEXT.format(free=3, fill=10))

    app, port = web.Application(), free_port()
    app.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    async with watched(f"http://127.0.0.1:{port}/metrics", "m3_embedder") as seen:
        pass
    async with watched(f"http://127.0.0.1:{port}/other", "m3_embedder") as lacking:
        pass
    await runner.cleanup()
    async with watched(f"http://127.0.0.1:{port}/metrics", "m3_embedder") as away:
        pass
    assert [len(its.seen) for its in (seen, lacking, away)] == [2, 0, 0]
