"""The example service, against a real PostgreSQL and our OpenAI server."""

import httpx
import pytest

from examples.demo.services import ask, start_service

QUESTION = {"text": "Tell me about item 17 please"}


@pytest.fixture(scope="module")
def settings(database_url, openai_url):
    """What the service is told."""
    return {"DATABASE_URL": database_url, "OPENAI_BASE_URL": openai_url}


@pytest.fixture(scope="module")
def shop(processes, settings, receiver):
    """A client of the service, run without telemetry."""
    service = start_service(processes, "bare", settings, receiver)
    service.wait()
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
        yield client
    service.child.stop()


def test_the_plain_endpoint_answers(shop):
    """The endpoint that needs nobody answers."""
    assert shop.get("/hello", params={"name": "Ada"}).json() == {"hello": "Ada"}


def test_a_row_is_read(shop):
    """One item comes from the database, and one that is not there is a 404."""
    assert shop.get("/items/17").json() | {"views": 0} == {
        "id": 17,
        "category": "chair",
        "name": "item 17",
        "price": "22.00",
        "views": 0,
    }
    assert shop.get("/items/4711").status_code == 404


def test_rows_are_read(shop):
    """A category is listed up to the limit."""
    items = shop.get("/items", params={"category": "lamp", "limit": 3}).json()
    assert [item["category"] for item in items] == ["lamp"] * 3


def test_a_row_is_written(shop):
    """A view that was counted is there afterwards."""
    before = shop.get("/items/5").json()["views"]
    assert shop.post("/items/5/views").json() == {"counted": 1}
    assert shop.get("/items/5").json()["views"] == before + 1


def test_the_model_answers(shop):
    """A chat is answered in one piece, with the tokens that it took."""
    answer = shop.post("/chat", json=QUESTION).json()
    assert "item 17" in answer["text"]
    assert answer["tokens"] > 0


def test_the_model_answers_word_by_word(shop):
    """A streamed chat arrives as server-sent events and ends with its tokens."""
    with shop.stream("POST", "/chat/stream", json=QUESTION) as answer:
        events = "".join(answer.iter_text()).strip().split("\n\n")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert len(events) > 10
    assert events[-1].startswith("event: done\ndata: ")


def test_the_model_looks_things_up(shop):
    """The assistant answers with what its tool found in the database."""
    assert "item 17 costs 22.00" in shop.post("/assistant", json=QUESTION).json()["text"]


@pytest.mark.parametrize(
    ("model", "status"), [("fault-400", 400), ("fault-429", 429), ("fault-500", 500), ("no-such-model", 404)]
)
def test_a_failing_model_is_told_apart_from_a_failing_service(shop, model, status):
    """Whatever the model's server refuses, the caller of the service sees a 502 with its status."""
    answer = shop.post("/chat", json=QUESTION | {"model": model})
    assert answer.status_code == 502
    assert answer.json()["status"] == status


def test_faults_are_served_as_faults(shop):
    """An exception in the service is a 500, an unknown path a 404."""
    # uvicorn closes the connection after it, and says so only to those who ask for that.
    assert shop.get("/fault", headers={"connection": "close"}).status_code == 500
    assert shop.get("/nowhere").status_code == 404


@pytest.mark.usefixtures("releases_of_the_examples")
def test_the_explicit_way_sends_telemetry(processes, settings, receiver):
    """With otel-fastpath instrumented in the lifespan, the spans of all three libraries arrive when it stops."""
    service = start_service(processes, "explicit", settings, receiver)
    service.wait()
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
        assert client.get("/items/17").status_code == 200
        assert client.post("/chat", json=QUESTION).status_code == 200
    service.child.stop()
    assert service.child.process.returncode == 0, service.child.last_lines()
    sent = ask(receiver, "explicit/summary")
    spans = "\n".join(sent["spans"])
    for name in ("GET /items/{item_id}", "SELECT", "chat gpt-4o-mini"):
        assert f'"name": "{name}"' in spans
    assert sent["faults"] == {}
    assert "http.server.request.duration" in sent["metric_names"]
