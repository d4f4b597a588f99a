"""What is said in websocket sessions: told where that is asked for."""

from __future__ import annotations

from both import run, take, wait, within
from sockets import completed, connect, created, done, needs, server, settings
from telemetry import Kept, ours

__all__ = ["server", "settings"]


def test_content_is_kept_on_request_only(kind, settings, server, environ):
    """Instructions, what was asked and heard, what was answered and spoken; no audio."""
    spoken = {"type": "input_audio", "audio": "AAAA"}
    asked = {"id": "item_0", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}
    heard = {"type": "conversation.item.input_audio_transcription.completed", "event_id": "event_5"}
    where = {"item_id": "item_2", "content_index": 0, "usage": {"type": "duration", "seconds": 1}}
    script = [
        created(instructions="You sell furniture."),
        {"type": "conversation.item.added", "event_id": "event_6", "item": asked},
        {"type": "conversation.item.added", "event_id": "event_7", "item": {**asked, "content": [spoken]}},
        {**heard, **where, "transcript": "What is item 17?"},
        done(),
        1000,
    ]

    def told(value):
        environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
        server.scripts = [script]
        kept = Kept()

        async def talk(client):
            async with within(connect(client)) as connection:
                await take(connection)

        with ours(kept):
            run(kind, talk, **settings)
        found = kept.seen()
        kept.shut_down()
        return found["spans"][0]["attributes"], found["events"]

    names = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"}
    without, _ = told("no_content")
    assert not names & set(without)
    found, _ = told("span_only")
    assert found["gen_ai.system_instructions"] == [{"content": "You sell furniture.", "type": "text"}]
    assert [each["parts"] for each in found["gen_ai.input.messages"]] == [
        [{"content": "Hi.", "type": "text"}],
        [{"content": "What is item 17?", "type": "text"}],
    ]
    assert [each["parts"] for each in found["gen_ai.output.messages"]] == [[{"content": "A chair.", "type": "text"}]]
    assert {key: found[key] for key in without} == without
    _, (event,) = told("event_only")
    assert names <= set(event["attributes"])


@needs("responses")
def test_what_is_asked_over_a_connection_of_responses(kind, settings, server, environ):
    """The server does not repeat it: it is heard as it is sent."""
    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_only")
    server.scripts = [[completed()]]
    kept = Kept()

    async def talk(client):
        async with within(connect(client, "responses")) as connection:
            await wait(connection.response.create(model="gpt-4o-mini", input="What is item 17?", instructions="Sell."))
            await wait(connection.recv())

    with ours(kept):
        run(kind, talk, **settings)
    found = kept.seen()["spans"][0]["attributes"]
    kept.shut_down()
    assert [each["parts"][0]["content"] for each in found["gen_ai.input.messages"]] == ["What is item 17?"]
    assert found["gen_ai.system_instructions"] == [{"content": "Sell.", "type": "text"}]
    assert [each["parts"][0]["content"] for each in found["gen_ai.output.messages"]] == ["A chair."]
