"""docs/django.md: each span of a Django service arrives."""

from __future__ import annotations

import signal

import pytest

from .conftest import block_of

pytestmark = pytest.mark.source
NAME = "GET items/<int:item>"
SETTINGS = """
SECRET_KEY = "key"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "shop.urls"
MIDDLEWARE = []
"""
URLS = """
from django.http import HttpResponse
from django.urls import path

urlpatterns = [path("items/<int:item>", lambda request, item: HttpResponse(str(item)))]
"""
PLAIN = """
from django.core.{kind} import get_{kind}_application

application = get_{kind}_application()
"""
MANAGE = (
    "from django.core.management import execute_from_command_line\nimport sys\nexecute_from_command_line(sys.argv)\n"
)
GUNICORN = ("gunicorn", "shop.wsgi", "--bind", "127.0.0.1:{port}", "--workers", "2")
UVICORN = ("uvicorn", "shop.asgi:application", "--port", "{port}")
RUNSERVER = ("python", "manage.py", "runserver", "--noreload", "{port}")


@pytest.fixture
def serve(deploy, tmp_path):
    """Starts the service."""
    pytest.importorskip("django")

    def start(*words, **files):
        folder = tmp_path / "shop"
        folder.mkdir()
        files = {
            "settings": SETTINGS,
            "urls": URLS,
            **{kind: PLAIN.format(kind=kind) for kind in ("wsgi", "asgi")},
            **files,
        }
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        (tmp_path / "manage.py").write_text(MANAGE)
        return deploy(*words, DJANGO_SETTINGS_MODULE="shop.settings")

    return start


@pytest.mark.parametrize(
    ("words", "end"),
    [
        pytest.param(GUNICORN, signal.SIGTERM, id="gunicorn"),
        # uvicorn exports what it has on this signal only: docs/fastapi.md.
        pytest.param(UVICORN, signal.SIGINT, id="uvicorn", marks=pytest.mark.slow),
        pytest.param(RUNSERVER, signal.SIGINT, id="runserver", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "way",
    [("opentelemetry-instrument",), pytest.param(("otel-fastpath", "run"), marks=pytest.mark.slow)],
    ids=lambda way: way[0],
)
def test_by_command(serve, way, words, end):
    """With the settings named in the environment."""
    service = serve(*way, *words)
    service.ask(5)

    assert service.stop(end) == {NAME: 5}


@pytest.mark.slow
def test_in_code(serve, tmp_path):
    """In `wsgi.py`, with providers that each worker sets up."""
    (tmp_path / "gunicorn.conf.py").write_text(block_of("gunicorn.md", "def post_fork"))
    service = serve(*GUNICORN, wsgi=block_of("django.md", "get_wsgi_application"))
    service.ask(5)

    assert service.stop() == {NAME: 5}
