"""Coroutines, tasks, async generators, asyncio and anyio."""

from __future__ import annotations

# ruff: noqa: D101, D103, D105, SIM105, TRY301, UP041  # odd code is what this is about
import asyncio
import contextlib

import anyio

from counting.scenario import scenario


def run(coroutine):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


async def failing():
    raise ValueError("a")


async def fine():
    return 1


def asynchronous(raised, **more):
    """A scenario that is a coroutine function."""

    def declare(function):
        def main():
            run(function())

        main.__name__ = function.__name__
        return scenario(raised, **more)(main)

    return declare


@asynchronous({})
async def await_without_error():
    await fine()


@asynchronous({"ValueError": 1})
async def await_failing():
    try:
        await failing()
    except ValueError:
        pass


async def failing_later():
    await asyncio.sleep(0)
    raise ValueError


@asynchronous({"ValueError": 1})
async def await_failing_later():
    try:
        await failing_later()
    except ValueError:
        pass


@asynchronous({"ValueError": 1})
async def task_failing():
    try:
        await asyncio.create_task(failing())
    except ValueError:
        pass


async def waits(task):
    try:
        await task
    except ValueError:
        pass


# Known: a future gives its traceback away to the first who asks for the result.
@asynchronous({"ValueError": 1}, by_traceback={"ValueError": 2})
async def task_failing_for_two():
    task = asyncio.create_task(failing())
    await asyncio.gather(waits(task), waits(task))


@asynchronous({"ValueError": 1}, by_traceback={"ValueError": 2})
async def future_failing_for_two():
    future = asyncio.get_running_loop().create_future()
    tasks = [asyncio.create_task(waits(future)) for _ in range(2)]
    await asyncio.sleep(0)
    future.set_exception(ValueError("f"))
    await asyncio.gather(*tasks)


@asynchronous({})
async def task_cancelled():
    task = asyncio.create_task(asyncio.sleep(10))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass


@asynchronous({"TimeoutError": 1})
async def wait_for():
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.001)
    except asyncio.TimeoutError:
        pass


@asynchronous({"TimeoutError": 1})
async def timeout():
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(10)
    except asyncio.TimeoutError:
        pass


@asynchronous({"ValueError": 2, "ExceptionGroup": 1}, handled={"ExceptionGroup": 1})
async def task_group():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(failing())
            group.create_task(failing())
    except* ValueError:
        pass


@asynchronous({"ValueError": 1, "ExceptionGroup": 1}, handled={"ExceptionGroup": 1})
async def task_group_with_sibling():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(failing())
            group.create_task(asyncio.sleep(10))
    except* ValueError:
        pass


@asynchronous({"ValueError": 1}, handled={})
async def gather_returning_exceptions():
    await asyncio.gather(failing(), fine(), return_exceptions=True)


@asynchronous({"ValueError": 1})
async def gather_raising():
    try:
        await asyncio.gather(failing(), fine())
    except ValueError:
        pass


async def numbers():
    yield 1
    yield 2


@asynchronous({})
async def async_for_generator():
    async for _ in numbers():
        pass


class Counter:
    number = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.number += 1
        if self.number > 2:
            raise StopAsyncIteration
        return self.number


@asynchronous({})
async def async_for_iterator():
    async for _ in Counter():
        pass


class Manager:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc_info):
        return False


@asynchronous({"ValueError": 1})
async def async_with_passing():
    try:
        async with Manager():
            raise ValueError
    except ValueError:
        pass


@contextlib.asynccontextmanager
async def manager():
    yield 1


@asynchronous({"ValueError": 1})
async def asynccontextmanager_passing():
    try:
        async with manager():
            raise ValueError
    except ValueError:
        pass


@asynchronous({})
async def asynccontextmanager_without_error():
    async with manager():
        pass


def fail():
    raise ValueError("th")


@asynchronous({"ValueError": 1})
async def to_thread_failing():
    try:
        await asyncio.to_thread(fail)
    except ValueError:
        pass
    await asyncio.get_running_loop().shutdown_default_executor()


@asynchronous({"ValueError": 1, "ExceptionGroup": 1}, handled={"ExceptionGroup": 1})
async def anyio_task_group():
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(failing)
            group.start_soon(anyio.sleep, 10)
    except* ValueError:
        pass


@asynchronous({})
async def anyio_move_on_after():
    with anyio.move_on_after(0.001):
        await anyio.sleep(10)


@asynchronous({"TimeoutError": 1})
async def anyio_fail_after():
    try:
        with anyio.fail_after(0.001):
            await anyio.sleep(10)
    except TimeoutError:
        pass


@asynchronous({"ValueError": 1})
async def anyio_to_thread():
    try:
        await anyio.to_thread.run_sync(fail)
    except ValueError:
        pass


@asynchronous({"WouldBlock": 1, "EndOfStream": 1})
async def anyio_memory_stream():
    sender, receiver = anyio.create_memory_object_stream(1)

    async def send():
        await sender.send(1)
        sender.close()

    async with sender, receiver, anyio.create_task_group() as group:
        group.start_soon(send)
        async for _ in receiver:
            pass
