"""Makes what is shared by the tests of OpenAI importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from server_fixtures import client, server, settings, with_async_client

__all__ = ["client", "server", "settings", "with_async_client"]
