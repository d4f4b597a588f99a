"""Transactions: what begins or ends one, or sets a mark in it, is a span."""

from __future__ import annotations

import inspect

import psycopg
import pytest


def test_the_begin_of_psycopgs_own_is_part_of_the_query(look_both):
    """Without autocommit, psycopg begins a transaction for the first query; it ends with a span."""
    names = look_both(lambda c: c.execute("SELECT 1"), autocommit=False).names()

    assert names == ["SELECT", "COMMIT"]


@pytest.mark.proves("psycopg.commit", "psycopg.rollback", "psycopg.transaction.*")
def test_transactions_and_savepoints_are_spans(look):
    """Each round trip; what sends nothing is none."""

    def main(connection):
        connection.commit()
        connection.rollback()
        with connection.transaction():
            with connection.transaction():
                pass
            with pytest.raises(ZeroDivisionError), connection.transaction("mine"):
                raise ZeroDivisionError
        with connection.transaction(force_rollback=True):
            pass
        connection.autocommit = False
        connection.execute("SELECT 1")
        connection.rollback()

    names = look(main).names()

    assert names == [
        *("BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "SAVEPOINT", "ROLLBACK TO", "COMMIT"),
        *("BEGIN", "ROLLBACK", "SELECT", "ROLLBACK"),
    ]


@pytest.mark.proves("psycopg.async_commit", "psycopg.async_rollback", "psycopg.async_transaction.*")
def test_asynchronous_transactions_are_spans(look_async):
    """Likewise."""

    async def main(connection):
        async with connection.transaction(), connection.transaction():
            pass
        await connection.set_autocommit(False)
        await connection.execute("SELECT 1")
        await connection.commit()
        await connection.execute("SELECT 1")
        await connection.rollback()

    names = look_async(main).names()

    assert names == ["BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "COMMIT", "SELECT", "COMMIT", "SELECT", "ROLLBACK"]


@pytest.mark.proves("psycopg.tpc_*", "psycopg.async_tpc_*")
def test_two_phase_transactions_are_spans(look_both):
    """Their commands; the test's server allows no prepared transactions."""

    def main(connection):
        begun = connection.tpc_begin("mine")
        if inspect.isawaitable(begun):
            return _two_phases(connection, begun)
        connection.execute("SELECT 1")
        connection.tpc_commit()
        connection.tpc_begin("mine")
        connection.tpc_rollback()
        connection.tpc_begin("mine")
        with pytest.raises(psycopg.Error):
            connection.tpc_prepare()
        connection.close()
        return None

    names = look_both(main, autocommit=False).names()

    assert names[:6] == ["BEGIN", "SELECT", "COMMIT", "BEGIN", "ROLLBACK", "BEGIN"]
    assert names[6] == "PREPARE"


async def _two_phases(connection, begun):
    await begun
    await connection.execute("SELECT 1")
    await connection.tpc_commit()
    await connection.tpc_begin("mine")
    await connection.tpc_rollback()
    await connection.tpc_begin("mine")
    with pytest.raises(psycopg.Error):
        await connection.tpc_prepare()
    await connection.close()


def test_the_parameters_can_be_passed_by_keyword(look):
    """By psycopg's names."""

    def main(connection):
        connection.tpc_begin(xid="mine")
        connection.tpc_rollback(xid=None)
        transaction = psycopg.Transaction(connection)
        transaction.__enter__()
        transaction.__exit__(exc_type=ZeroDivisionError, exc_val=ZeroDivisionError(), exc_tb=None)

    assert look(main, autocommit=False).names() == ["BEGIN", "ROLLBACK", "BEGIN", "ROLLBACK"]


def test_asynchronous_ones_too(look_async):
    """Likewise."""

    async def main(connection):
        await connection.tpc_begin(xid="mine")
        await connection.tpc_rollback(xid=None)
        transaction = psycopg.AsyncTransaction(connection)
        await transaction.__aenter__()
        await transaction.__aexit__(exc_type=ZeroDivisionError, exc_val=ZeroDivisionError(), exc_tb=None)

    assert look_async(main, autocommit=False).names() == ["BEGIN", "ROLLBACK", "BEGIN", "ROLLBACK"]


def test_transactions_can_be_left_off(look):
    """By name."""

    def main(connection):
        with connection.transaction(), connection.transaction():
            connection.execute("SELECT 1")
        connection.execute("BEGIN")
        connection.commit()

    assert look(main, options="no-transactions").names() == ["SELECT"]
