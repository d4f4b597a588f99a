"""Samplers of the application's own while something is shed: they are asked, found and changed as without the guard."""

import copy

import pytest
from newer_releases import sheds_spans
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult

from otel_fastpath.patching import faults
from otel_fastpath.shedding import control

ASGI = "opentelemetry.instrumentation.asgi"


class Six(Sampler):
    """A sampler with the six parameters that the SDK passes."""

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None):  # noqa: ARG002
        """Keep everything."""
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self):
        """Its name."""
        return type(self).__name__


class Rated(Six):
    """One that the application changes while it runs."""

    rate = 1.0

    def set_rate(self, rate):
        """Change the rate."""
        self.rate = rate


class Named(Six):
    """One whose parameters are keyword-only: `ParentBased` passes them so."""

    def should_sample(self, *, parent_context, trace_id, name, **others):  # noqa: ARG002
        """Keep everything."""
        return SamplingResult(Decision.RECORD_AND_SAMPLE, others["attributes"])


class Noting(Six):
    """One that notes what it is given."""

    def __init__(self):
        self.noted = []

    def should_sample(self, *given, **named):
        """Keep everything."""
        self.noted.append((len(given), tuple(named)))
        return SamplingResult(Decision.RECORD_AND_SAMPLE)


class Failing(Six):
    """One that raises."""

    def should_sample(self, *_given, **_named):
        """Fail."""
        raise ValueError("of the sampler")


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize(
    "make",
    [
        Six,
        lambda: ParentBased(Six()),
        lambda: ParentBased(Named()),
        lambda: ParentBased(Six(), local_parent_sampled=Named()),
    ],
    ids=["Six", "root", "named root", "named local"],
)
def test_a_users_sampler_needs_only_the_parameters_that_the_sdk_passes(traced, driven, make):
    """`trace_state` is none of them, and below `ParentBased` they may be keyword-only."""
    given = traced(make())
    guard = driven(given.provider)
    for state in (control.SheddingState(control.NO_INTERNAL_SPANS), control.SheddingState(control.FEWER_TRACES, 0.5)):
        before = len(given.spans())
        guard._follow(state)
        given.requests(50, ASGI)
        assert len(given.spans()) > before


@pytest.mark.parametrize("make", [lambda user: user, ParentBased], ids=["alone", "ParentBased"])
@pytest.mark.usefixtures("started")
def test_a_users_sampler_is_asked_as_without_the_guard(traced, driven, make):
    """By position by the tracer, by keyword by `ParentBased`, and with nothing that neither of them passes."""
    user = Noting()
    given = traced(make(user))
    given.requests(1, ASGI)
    expected, user.noted = user.noted, []
    driven(given.provider)._follow(control.SheddingState(control.FEWER_TRACES, 0.5))
    given.requests(1, ASGI)
    assert set(user.noted) == set(expected)


@pytest.mark.parametrize("make", [lambda user: user, ParentBased], ids=["alone", "ParentBased"])
@pytest.mark.usefixtures("started")
def test_an_exception_of_a_users_sampler_is_the_applications(traced, driven, make):
    """It reaches the caller, as without the guard, and is no fault of this package."""
    given = traced(make(Failing()))
    driven(given.provider)._follow(control.SheddingState(control.FEWER_TRACES, 0.5))
    before = faults.counts()
    for start in (given.tracer().start_span, lambda name: given.tracer().start_as_current_span(name).__enter__()):
        with pytest.raises(ValueError, match="of the sampler"):
            start("span")
    assert faults.counts() == before


@sheds_spans
@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("level", [control.NO_INTERNAL_SPANS, control.FEWER_TRACES])
def test_attributes_are_those_of_the_applications_sampler(traced, driven, level):
    """It is found at the provider or a tracer, read, called and changed there, also while its traces are shed."""
    user = Rated()
    given = traced(user)
    tracer = given.tracer(ASGI)
    driven(given.provider)._follow(control.SheddingState(level, 1.0))
    assert tracer.sampler is not user
    tracer.sampler.set_rate(0.25)
    tracer.sampler.limit = 5
    assert (user.rate, tracer.sampler.rate) == (0.25, 0.25)
    assert (user.limit, tracer.sampler.limit) == (5, 5)
    del tracer.sampler.limit
    assert not hasattr(user, "limit")
    assert not hasattr(tracer.sampler, "limit")
    assert type(copy.copy(tracer.sampler)) is type(tracer.sampler)


@sheds_spans
@pytest.mark.usefixtures("started")
def test_attributes_of_a_parent_based_sampler_are_there(traced, driven):
    """Its own, and those of the sampler of roots, which can be changed there."""
    user = ParentBased(Rated())
    user.owner = "team"
    given = traced(user)
    driven(given.provider)._follow(control.SheddingState(control.FEWER_TRACES, 1.0))
    assert given.provider.sampler is not user
    assert given.provider.sampler.owner == "team"
    given.provider.sampler._root.set_rate(0.25)
    assert user._root.rate == 0.25


@sheds_spans
def test_a_sampler_without_a_description(traced, driven):
    """The status names its class."""

    class Nameless(Six):
        def get_description(self):
            raise ValueError("none")

    guard = driven(traced(Nameless()).provider)
    assert "adjusted counts are not known beside Nameless" in guard.describe()
