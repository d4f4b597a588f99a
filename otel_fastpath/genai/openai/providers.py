"""The provider at a base URL, as a value of `gen_ai.provider.name`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

OPENAI: Final = "openai"
# The end of a host name -> the provider. Hosts that are not listed also use OpenAI's protocol.
HOSTS: Final = (
    ("api.openai.com", OPENAI),
    (".openai.azure.com", "azure.ai.openai"),
    (".cognitiveservices.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
    (".models.ai.azure.com", "azure.ai.inference"),
    ("models.inference.ai.azure.com", "azure.ai.inference"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.anthropic.com", "anthropic"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    (".ml.cloud.ibm.com", "ibm.watsonx.ai"),
    (".amazonaws.com", "aws.bedrock"),
    (".api.aws", "aws.bedrock"),
)
# A specific client class determines the provider regardless of the URL, which may be that of a gateway.
CLIENTS: Final = {
    "BaseAzureClient": "azure.ai.openai",
    "BedrockOpenAI": "aws.bedrock",
    "AsyncBedrockOpenAI": "aws.bedrock",
}
_HTTPS: Final = 443


class Site(NamedTuple):
    """Where a client sends its requests."""

    provider: str
    address: str | None
    port: int | None


def site_of(client_class: type, base_url: Any) -> Site:
    """The provider, host and port of a base URL (an `httpx.URL` or its like); the port of HTTPS is left out."""
    host = getattr(base_url, "host", None) or None
    port = getattr(base_url, "port", None)
    return Site(provider_of(client_class, host or ""), host, None if port == _HTTPS else port)


def provider_of(client_class: type, host: str) -> str:
    """The provider by the client's class, else by the host."""
    for each in client_class.__mro__:
        if each.__name__ in CLIENTS:
            return CLIENTS[each.__name__]
    name = host.lower().rstrip(".")
    for ending, provider in HOSTS:
        if name.endswith(ending) and (ending[0] == "." or name == ending or name[-len(ending) - 1] in ".-"):
            return provider
    return OPENAI
