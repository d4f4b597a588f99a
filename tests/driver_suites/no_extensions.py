"""A plugin of pytest for SQLAlchemy's tests: they do without extensions of PostgreSQL that pgserver does not have."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart():
    """Forget them: otherwise SQLAlchemy's own plugin makes them when it connects, which it does next."""
    from sqlalchemy.dialects.postgresql import provision

    provision._extensions.clear()
