"""What a host does while lines fail, by name."""

from __future__ import annotations

from faultcheck.workloads.clients import OpenAI, OpenAIAsync, OpenAIStreams
from faultcheck.workloads.databases import Asyncpg, AsyncpgOptions, AsyncpgPools
from faultcheck.workloads.exporting import Encoding
from faultcheck.workloads.placing import SetUp
from faultcheck.workloads.signals import Collection, Exceptions, Logs, Metrics, Propagation
from faultcheck.workloads.spans import Decorators, Errors, Processors, Spans

# The longest first: the others fill what is left.
WORKLOADS = {
    "set-up": SetUp,
    "openai-streams": OpenAIStreams,
    "openai-async": OpenAIAsync,
    "openai": OpenAI,
    "asyncpg": Asyncpg,
    "asyncpg-options": AsyncpgOptions,
    "asyncpg-pools": AsyncpgPools,
    "collection": Collection,
    "spans": Spans,
    "processors": Processors,
    "errors": Errors,
    "decorators": Decorators,
    "propagation": Propagation,
    "metrics": Metrics,
    "encoding": Encoding,
    "logs": Logs,
    "exceptions": Exceptions,
}
