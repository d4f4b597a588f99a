"""Nothing of a command's arguments is told, least of all a password, whatever is asked for."""

from __future__ import annotations

import contextlib

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from otel_fastpath.db.redis import commands

SECRET = "hunter2"  # noqa: S105  # nobody has it


def _attempts(client):
    """Whatever has a password in it, successful or not."""
    for call in (
        lambda: client.config_set("requirepass", SECRET),
        lambda: client.config_set("requirepass", ""),
        lambda: client.config_set("nonsense-" + SECRET, SECRET),
        lambda: client.auth(SECRET),
        lambda: client.auth(SECRET, username="somebody"),
        lambda: client.execute_command("auth", SECRET),
        lambda: client.execute_command(b"AUTH", SECRET),
        lambda: client.execute_command(f"AUTH {SECRET}"),
        lambda: client.execute_command(f"AUTH  {SECRET} {SECRET}", SECRET),
        lambda: client.execute_command(f"CONFIG  SET requirepass {SECRET} {SECRET}"),
        lambda: client.execute_command("CONFIG", "SET", "masterauth", SECRET),
        lambda: client.execute_command("HELLO", "3", "AUTH", "default", SECRET),
        lambda: client.execute_command("HELLO", "2"),
        lambda: client.acl_setuser("somebody", passwords=[f"+{SECRET}"], enabled=True),
        lambda: client.execute_command("ACL", "SETUSER", "somebody", f">{SECRET}", "nonsense"),
        lambda: client.execute_command(f"{SECRET}", SECRET),
        lambda: client.migrate("127.0.0.1", 1, ["text"], 0, 10, auth=SECRET),
        lambda: client.execute_command("NONSENSE", SECRET),
        lambda: client.execute_command("CONFIG NONSENSE", SECRET),
        lambda: client.pipeline().config_set("requirepass", SECRET).config_set("requirepass", "").execute(),
        lambda: client.pipeline().lpush("text", SECRET).execute(),
        lambda: client.pipeline(transaction=False).execute_command("AUTH", SECRET).execute(),
    ):
        with contextlib.suppress(redis.RedisError):
            call()
    client.config_set("masterauth", "")


@pytest.mark.parametrize("options", ["", "parameters", "slow=1us"])
def test_a_password_is_never_told(look, options):
    """Neither in an attribute nor in an event, also where the options ask for parameters. A name is a name."""
    # A wrong password is an error of the connection, which redis-py would repeat.
    spans = look(_attempts, options, single_connection_client=True, retry=Retry(NoBackoff(), 0)).spans()

    assert len(spans) > 20
    told = [span.to_json() for span in spans if span.name != SECRET]
    assert len(told) >= len(spans) - 1
    leaks = [text for text in told if SECRET in text]
    if options:
        # An unknown command may be one of a module: its arguments were asked for.
        leaks = [text for text in leaks if "NONSENSE ?" not in text or "CONFIG" in text]
    assert leaks == []


@pytest.mark.parametrize(
    ("given", "name", "text"),
    [
        ("GET", "GET", "GET ? ?"),
        ("CONFIG SET", "CONFIG SET", "CONFIG SET ? ?"),
        ("CONFIG  SET", "CONFIG SET", "CONFIG SET ? ?"),
        ("CONFIG hunter2", "CONFIG", "CONFIG ? ? ?"),
        ("AUTH hunter2", "AUTH", "AUTH ? ? ?"),
        ("GET " + "x" * 1000, "GET", "GET ? ? ?"),
        ("JSON.SET", "JSON.SET", "JSON.SET ? ?"),
        (bytearray(b"GET"), "GET", "GET ? ?"),
        (b"\xff", "", ""),
        (None, "", ""),
        ("", "", ""),
        ("{key}", "", ""),
    ],
)
def test_names_are_read(given, name, text):
    """Of what an application passes for a command; more than a name is an argument."""
    read = commands.read(given, 2)

    assert (read.name, read.text) == (name, text)


@pytest.mark.parametrize(
    "given", ["AUTH", "auth", b"AUTH", "AUTH x", "CONFIG SET", "ACL SETUSER", "HELLO", "", None, "%"]
)
def test_commands_that_may_have_a_password_are_known(given):
    """By their first word; and what is no name may be anything."""
    assert commands.is_secret(given)


@pytest.mark.parametrize("given", ["GET", "get", b"SET", "CLIENT GETNAME"])
def test_the_others_are_too(given):
    """Their parameters may be asked for."""
    assert not commands.is_secret(given)
