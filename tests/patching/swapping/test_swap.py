"""Attributes are exchanged and put back exactly; what somebody wrapped meanwhile goes inert and can be revived."""

from __future__ import annotations

import asyncio
import functools
import inspect
import types

import pytest
import wrapt

from otel_fastpath.patching.swapping.swap import Swap, seen_through


def exchange(owner, name, make):
    """Put what `make` makes of the original in place."""
    swap = Swap(owner, name)
    swap.put(make(swap.original))
    return swap


def louder(original):
    """A replacement that adds an exclamation mark to the result, with a default and a closure."""
    mark = "!"

    @functools.wraps(original)
    def replacement(*args, end=mark, **kwargs):
        return original(*args, **kwargs) + end

    return replacement


class Base:
    """What is inherited from."""

    def inherited(self):
        """What is inherited."""
        return "inherited"


def new_owner():
    """A class with one attribute of each kind."""

    class Owner(Base):
        def method(self, what="method"):
            return what

        @staticmethod
        def static(what="static"):
            return what

        @classmethod
        def of_class(cls, what="of class"):
            return f"{what} {cls.__name__}"

        @property
        def prop(self):
            return "prop"

    return Owner


MAKERS = {
    "method": louder,
    "inherited": louder,
    "static": lambda original: staticmethod(louder(original.__func__)),
    "of_class": lambda original: classmethod(louder(original.__func__)),
    "prop": lambda original: property(louder(original.fget)),
}
PLAIN = {
    "method": "method",
    "inherited": "inherited",
    "static": "static",
    "of_class": "of class Owner",
    "prop": "prop",
}


def read(owner, name):
    """What the attribute gives through an instance."""
    value = getattr(owner(), name)
    return value if name == "prop" else value()


@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_attribute_is_put_back_exactly(name):
    """Afterwards the owner has the very same objects in the same order, and inherited ones are inherited again."""
    owner = new_owner()
    before = dict(vars(owner))
    swap = exchange(owner, name, MAKERS[name])
    assert read(owner, name) == PLAIN[name] + "!"

    assert swap.take_off()

    assert read(owner, name) == PLAIN[name]
    assert list(vars(owner).items()) == list(before.items())
    assert all(vars(owner)[key] is value for key, value in before.items())


def test_a_module_attribute_is_put_back_exactly():
    """A function, a class or a builtin of a module is restored as the very same object."""
    module = types.ModuleType("subject")
    module.size = len
    swap = exchange(module, "size", lambda original: lambda value: original(value) + 1)
    assert module.size("abc") == 4

    swap.take_off()

    assert module.size is len


@pytest.mark.parametrize("name", MAKERS)
def test_a_replacement_that_was_wrapped_goes_inert_and_is_revived(name):
    """Taken off below a wrapper, it hands on to the original; revived, it works again; their wrapper stays."""
    owner = new_owner()
    swap = exchange(owner, name, MAKERS[name])
    ours = vars(owner)[name]
    if name == "prop":
        theirs = property(lambda self: "<" + ours.fget(self) + ">")
    else:
        theirs = {"static": staticmethod, "of_class": classmethod}.get(name, lambda function: function)(
            lambda *args: "<" + getattr(ours, "__func__", ours)(*args) + ">"
        )
    setattr(owner, name, theirs)

    assert swap.take_off()
    assert read(owner, name) == f"<{PLAIN[name]}>"
    assert vars(owner)[name] is theirs

    swap.revive()
    assert read(owner, name) == f"<{PLAIN[name]}!>"


def test_a_kept_reference_hands_on_to_the_original():
    """Who kept the replacement, or a bound method of it, gets the original's behaviour once it is taken off."""
    owner = new_owner()
    swap = exchange(owner, "method", louder)
    kept, bound = owner.method, owner().method

    swap.take_off()

    assert (kept(owner(), what="kept"), bound("bound")) == ("kept", "bound")


def test_defaults_of_the_replacement_do_not_reach_the_original():
    """An inert function passes on exactly what it was given, whatever its own signature says."""
    module = types.ModuleType("subject")
    module.function = lambda *args, **kwargs: (args, kwargs)

    def make(original):
        return lambda a=1, *, b=2: original(a, b=b)

    swap = exchange(module, "function", make)
    kept = module.function
    assert kept() == ((1,), {"b": 2})

    swap.take_off()

    assert kept() == ((), {})
    assert kept(3, b=4, args=5) == ((3,), {"b": 4, "args": 5})


def test_an_inert_function_keeps_its_nature():
    """A coroutine function and a generator function stay what they were, and give what the original gives."""
    module = types.ModuleType("subject")

    async def coroutine(value):
        return value

    def generator(value):
        sent = yield value
        return sent

    module.coroutine, module.generator = coroutine, generator

    def make_coroutine(original):
        async def replacement(value):
            return await original(value) + 1

        return replacement

    def make_generator(original):
        def replacement(value):
            return (yield from original(value + 1))

        return replacement

    swaps = [exchange(module, "coroutine", make_coroutine), exchange(module, "generator", make_generator)]
    kept = module.coroutine, module.generator
    assert all(swap.take_off() for swap in swaps)

    assert inspect.iscoroutinefunction(kept[0])
    assert asyncio.run(kept[0](1)) == 1
    assert inspect.isgeneratorfunction(kept[1])
    steps = kept[1](1)
    assert next(steps) == 1
    with pytest.raises(StopIteration, match="sent"):
        steps.send("sent")


def test_what_cannot_go_inert_stays_in_force():
    """A wrapped replacement that is no function of ours says so, and is still known as in force."""
    module = types.ModuleType("subject")
    module.function = lambda: "plain"
    swap = exchange(module, "function", lambda original: functools.partial(louder(original)))
    ours = module.function
    module.function = lambda: "<" + ours() + ">"

    assert not swap.take_off()

    assert swap.is_active
    assert module.function() == "<plain!>"


def test_an_async_generator_is_not_made_inert():
    """Handing on to an asynchronous generator would lose what is sent into it: it stays."""
    module = types.ModuleType("subject")

    async def stream():
        yield 1

    module.stream = stream

    def make(original):
        async def replacement():
            async for item in original():
                yield item + 1

        return replacement

    swap = exchange(module, "stream", make)
    ours = module.stream
    module.stream = lambda: [ours()]

    assert not swap.take_off()


def test_a_static_method_in_the_place_of_a_class_method_stays():
    """Handing on between kinds would pass other arguments on."""
    owner = new_owner()
    swap = exchange(owner, "of_class", lambda _: staticmethod(lambda: "static"))
    ours = vars(owner)["of_class"]
    owner.of_class = staticmethod(lambda: f"<{ours()}>")

    assert not swap.take_off()


def test_the_original_is_no_replacement():
    """To make the original hand on to itself would never end."""
    owner = new_owner()

    with pytest.raises(ValueError, match="original itself"):
        exchange(owner, "method", lambda original: original)


def test_a_function_that_went_inert_works_when_it_is_put_again():
    """A make that gives the same function each time gets it back alive."""
    owner = new_owner()
    ours = louder(owner.method)
    exchange(owner, "method", lambda _: ours).take_off()

    exchange(owner, "method", lambda _: ours)

    assert owner().method() == "method!"


def around(function):
    """Someone's wrapper with functools.wraps."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    "wrap",
    [
        lambda ours: ours,
        around,
        lambda ours: around(around(ours)),
        lambda ours: wrapt.FunctionWrapper(ours, lambda wrapped, _instance, args, kwargs: wrapped(*args, **kwargs)),
        functools.partial,
    ],
    ids=["bare", "wraps", "twice", "wrapt", "partial"],
)
def test_a_replacement_is_seen_below_wrappers_that_name_it(wrap):
    """What stands there is known to lead to the replacement."""
    owner = new_owner()
    swap = exchange(owner, "method", louder)
    owner.method = wrap(owner.method)

    assert swap.is_seen()


@pytest.mark.parametrize("is_inert", [False, True], ids=["in force", "inert"])
def test_a_wrapper_of_wrapt_below_the_replacement_is_given_the_instance(is_inert):
    """It is a descriptor, which finds the instance only where a class has given it."""
    owner, given = new_owner(), []

    def noted(wrapped, instance, args, kwargs):
        given.append((type(instance), args))
        return wrapped(*args, **kwargs)

    wrapt.wrap_function_wrapper(owner, "method", noted)
    swap = Swap(owner, "method")
    swap.put(louder(swap.callee))
    if is_inert:
        owner.method = around(owner.method)
        assert swap.take_off()

    assert owner().method("what") == ("what" if is_inert else "what!")
    assert given == [(owner, ("what",))]


def test_a_replacement_is_not_seen_where_it_is_not():
    """Another function, one that hides what it wraps, one that names itself, or nothing: not seen, and no error."""
    owner = new_owner()
    swap = exchange(owner, "method", louder)
    ours = owner.method
    circle = around(len)
    circle.__wrapped__ = circle

    class Hostile:
        @property
        def __wrapped__(self):
            raise RuntimeError("nobody looks here")

    for other in (len, lambda self: [ours(self)], circle, Hostile(), None):
        owner.method = other
        assert not swap.is_seen()
    del owner.method
    assert not swap.is_seen()


def test_replacements_are_looked_through():
    """The original is found below a replacement, in force or inert, and below one on top of another."""
    owner = new_owner()
    original = owner.method
    first = exchange(owner, "method", louder)
    ours = owner.method
    second = exchange(owner, "method", louder)

    assert seen_through(owner.method) is original
    second.take_off()
    first.take_off()
    assert seen_through(ours) is original
    first.forget()
    # Others may hold it, as stock's function.
    assert seen_through(ours) is original
