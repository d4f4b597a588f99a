"""Computes the value of every declared limit in this environment, and the result for it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import limits, verdicts
from otel_fastpath.tools.budget.results import PER_CALL, Result, Verdict

if TYPE_CHECKING:
    from otel_fastpath.tools.budget.calibration import Calibration
    from otel_fastpath.tools.budget.limits import Limit
    from otel_fastpath.tools.budget.measuring import Counted, Timed

_UNITS: Final = {"ref": "ref", "bare": "x bare", "us": "us", "base": "x base"}
_WORTH_TELLING: Final = 0.01


@dataclass(frozen=True)
class Judge:
    """Judges measurements by their limits.

    Attributes:
        here: This environment.
        calibrated: The calibration for this Python version.
        calibrate: The advice shown if a calibrated value is missing.
    """

    here: Calibration
    calibrated: Calibration | None
    calibrate: str = "run `otel-fastpath budget calibrate`"

    def value(self, scenario: str, metric: str) -> tuple[float | None, str]:
        """Return a calibrated value, or the reason why there is none that is valid here."""
        value = self.calibrated.value(scenario, metric) if self.calibrated else None
        if self.calibrated is None or value is None:
            return None, f"no calibrated value for Python {self.here.python}: {self.calibrate}"
        unfit = self.calibrated.unfit(self.here, metric)
        return (None, f"{unfit}: {self.calibrate}") if unfit else (value, "")

    def most(self, scenario: str, limit: Limit) -> tuple[float | None, float | None, str]:
        """Return the most that a limit allows, the value it is relative to, and the reason if there is none."""
        if not limit.relative:
            return limit.value, None, ""
        if limit.metric == limits.REGRESSION:
            return 1 + limit.value, 1.0, ""
        value, reason = self.value(scenario, limit.metric)
        return None if value is None else _more(value, limit), value, reason

    def is_open(self, scenario: str, limit: Limit, timed: Timed) -> bool:
        """Whether a timed limit needs another batch of processes."""
        most = self.most(scenario, limit)[0]
        if most is None or not limit.gates or not limit.timed:
            return False
        first, later = timed.estimates(limit.unit)
        return verdicts.needs_another_batch(first, later, most, slack(limit, most))

    def is_above(self, scenario: str, limit: Limit, head: Counted, base: Counted | None) -> bool:
        """Whether a count is above its limit."""
        result = self.of_count(scenario, limit, head, base)
        return result.value is not None and result.most is not None and result.value > result.most

    def of_count(self, scenario: str, limit: Limit, head: Counted, base: Counted | None) -> Result:
        """The result for an exact count."""
        value = head.value(scenario, limit.metric)
        if limit.unit == limits.STOCK:
            stock = stock_of(scenario)
            calibrated, reason = head.value(stock, limit.metric), f"{stock}: {head.reason(stock, limit.metric)}"
            most = None if calibrated is None else calibrated * limit.value
        elif base is None or not limit.relative:
            most, calibrated, reason = self.most(scenario, limit)
        else:
            reason = base.reason(scenario, limit.metric)
            calibrated, reason = base.value(scenario, limit.metric), f"base: {reason.removeprefix('base: ')}"
            most = None if calibrated is None else _more(calibrated, limit)
        result = Result(scenario, limit.key, limit.text, Verdict.NOT_MEASURED, PER_CALL, value, most)
        result.calibrated = calibrated
        if value is None:
            result.reason = head.reason(scenario, limit.metric)
        elif most is None:
            result.reason = reason
        else:
            result.verdict = verdicts.count(value, most)
            if result.verdict is Verdict.FAIL:
                if limit.metric == limits.INSTRUCTIONS:
                    result.reason = verdicts.within_variation(value - most, head.totals.get(scenario, 0.0))
                if limit.relative and not base and self.calibrated:
                    result.reason = result.reason or self.calibrated.doubt(self.here)
                result.verdict = Verdict.INCONCLUSIVE if result.reason else Verdict.FAIL
            if (
                calibrated
                and limit.relative
                and value < calibrated - abs(calibrated) * max(limit.value, _WORTH_TELLING)
            ):
                of = "base" if base else f"the calibrated value: to hold it, {self.calibrate}"
                result.reason = f"{1 - value / calibrated:.0%} below {of}"
        return result

    def of_overhead(self, scenario: str, limit: Limit, timed: Timed) -> Result:
        """The result for an overhead in references, in per cent of bare, or in microseconds."""
        result = self._timed(scenario, limit, timed)
        if result.verdict is Verdict.FAIL and limit.unit == "ref":
            state = verdicts.machine_state(timed.every("control"), self.value(scenario, "control")[0])
            if state:
                result.verdict, result.reason = Verdict.INCONCLUSIVE, state
        return result

    def of_regression(self, scenario: str, limit: Limit, timed: Timed | None) -> Result:
        """The result for head compared with base."""
        if timed is None:
            unit = _UNITS["base"]
            reason = "no base to compare with: `otel-fastpath budget compare --base`"
            return Result(
                scenario, limit.key, limit.text, Verdict.NOT_MEASURED, unit, most=1 + limit.value, reason=reason
            )
        result = self._timed(scenario, limit, timed)
        if result.verdict in (Verdict.PASS, Verdict.FAIL) and median(timed.every("clear")) < verdicts.LEAST_CLEAR:
            result.verdict = Verdict.INCONCLUSIVE
            result.reason = "the hook is too cheap beside the bare call to be measured: make the bare call smaller"
        return result

    def _timed(self, scenario: str, limit: Limit, timed: Timed) -> Result:
        result = Result(scenario, limit.key, limit.text, Verdict.NOT_MEASURED, _UNITS[limit.unit])
        most, result.calibrated, result.reason = self.most(scenario, limit)
        # Without a bound, the value is only shown.
        result.most = most if most != float("inf") else None
        if timed.error:
            result.reason = timed.error
            return result
        first, later = timed.estimates(limit.unit)
        result.estimates = [*first, *later]
        result.details = _details(timed)
        most = float("inf") if most is None else most
        decision = verdicts.timed(first, later, most, slack(limit, most))
        result.value, result.low, result.high = decision.interval.value, decision.interval.low, decision.interval.high
        result.confidence = decision.interval.confidence
        if not limit.gates:
            result.verdict = Verdict.INFORMATION
        elif result.most is not None:
            result.verdict, result.reason = decision.verdict, decision.reason
        return result


def _more(calibrated: float, limit: Limit) -> float:
    """The most that a relative limit allows, also if the instrumented call is cheaper than the bare one."""
    return calibrated + abs(calibrated) * limit.value


def stock_of(scenario: str) -> str:
    """The name of the variant that a limit of a share of stock's count refers to."""
    return f"{scenario.rpartition('[')[0]}[{limits.STOCK}]"


def slack(limit: Limit, most: float) -> float:
    """The widest scatter at which a pass is meaningful: the gate's resolution or the headroom that the limit leaves."""
    return limit.value if limit.metric == limits.REGRESSION else most * limits.LEAST_HEADROOM


def _details(timed: Timed) -> dict[str, Any]:
    """Plain times, as medians over the processes; they are valid only for this machine at this moment."""
    answer = timed.batches[0][0]
    return {name: median(timed.every(name)) for name in answer if name.endswith("us") or name in ("control", "clear")}
