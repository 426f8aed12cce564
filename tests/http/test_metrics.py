from tests.conftest import Client


async def test_requests_are_counted_by_route_and_status(client: Client) -> None:
    await client.post("/v1/embeddings", json={"input": "a"})
    text = await (await client.get("/metrics")).text()
    assert 'quartet_request_seconds_count{method="POST",route="/v1/embeddings",status="200"}' in text


async def test_paths_and_methods_that_do_not_exist_make_no_labels(client: Client) -> None:
    await client.request("BREW", "/v1/coffee-4711")
    text = await (await client.get("/metrics")).text()
    assert "coffee" not in text
    assert "BREW" not in text


async def test_the_state_of_the_limiter_is_shown(client: Client) -> None:
    assert "quartet_limiter_degraded" in await (await client.get("/metrics")).text()
