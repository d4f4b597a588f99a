"""Without gevent, there is nothing to test."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("gevent") else ["test_*.py"]
