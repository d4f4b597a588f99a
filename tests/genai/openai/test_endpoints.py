"""What an endpoint is called, and which provider answers."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import openai
import pytest
from madeup import http

from otel_fastpath.genai.openai.endpoints import CHAT, RESPONSES, WORDS, endpoint_of
from otel_fastpath.genai.openai.providers import site_of

RESOURCES = Path(inspect.getfile(openai)).parent / "resources"


def test_every_word_of_the_clients_paths_is_known():
    """What is not is taken for an identifier, and would lose its name."""
    paths = {
        path
        for file in RESOURCES.rglob("*.py")
        for path in re.findall(r"\"(/[a-z0-9_/{}]+)(?:\?[a-z=]+)?\"", file.read_text(encoding="utf-8"))
    }
    words = {part for path in paths for part in path.split("/") if part and "{" not in part} - {"v1"}

    assert len(paths) > 50
    assert words <= WORDS


@pytest.mark.parametrize(
    ("method", "url", "operation"),
    [
        ("post", "/responses?beta=true", "chat"),
        ("get", "/responses/resp_1", "fetch_response"),
        ("get", "/responses/resp_1?beta=true", "fetch_response"),
        ("post", "/responses/resp_1/cancel", "responses.cancel"),
        ("get", "/chat/completions", "chat.completions.list"),
        ("get", "/chat/completions/c_1", "chat.completions.retrieve"),
        ("post", "/chat/completions/c_1", "chat.completions.update"),
        ("delete", "/files/file-1", "files.delete"),
        ("get", "/files/file-1/content", "files.content"),
        ("post", "/batches", "batches.create"),
        ("post", "/vector_stores/vs_1/file_batches/b_1/cancel", "vector_stores.file_batches.cancel"),
        ("post", "https://example.com/openai/v1/files", "files.create"),
        ("get", "/unheard_of/x", "request.list"),
    ],
)
def test_operations_are_named_as_the_client_names_them(method, url, operation):
    """Of few names, whatever identifiers there are."""
    assert endpoint_of(method, url).operation.partition(" ")[0] in {operation, "request.retrieve"}


def test_the_tables_rows_are_found_without_search():
    """The paths that are called most."""
    assert endpoint_of("post", "/chat/completions") is CHAT
    assert endpoint_of("post", "/responses") is RESPONSES


@pytest.mark.parametrize(
    ("url", "provider", "port"),
    [
        ("https://api.openai.com/v1", "openai", None),
        ("https://eu.api.openai.com/v1", "openai", None),
        ("https://me.openai.azure.com/openai", "azure.ai.openai", None),
        ("https://api.groq.com/openai/v1", "groq", None),
        ("https://api.deepseek.com", "deepseek", None),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gcp.gemini", None),
        ("https://us-central1-aiplatform.googleapis.com/v1", "gcp.vertex_ai", None),
        ("https://api.mistral.ai/v1", "mistral_ai", None),
        ("https://notapi.x.ai", "openai", None),
        ("https://example.com:8443/", "openai", 8443),
        ("http://localhost:8000/v1", "openai", 8000),
    ],
)
def test_the_provider_is_told_by_the_host(url, provider, port):
    """Who is not known speaks OpenAI's protocol."""
    site = site_of(openai.OpenAI, http.URL(url))

    assert (site.provider, site.port) == (provider, port)


def test_a_client_class_of_its_own_names_the_provider():
    """Azure behind a gateway is Azure."""
    assert site_of(openai.AsyncAzureOpenAI, http.URL("https://gateway.example")).provider == "azure.ai.openai"
