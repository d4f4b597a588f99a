"""Stack traces: captured when the exception is recorded, formatted when the text is needed.

`snapshot` stores a (code, instruction, line) triple for each frame, so that no frame or local variable is kept alive;
`Stack.value` returns the text that `traceback.format_exception` would have returned. Frames are formatted by the
`traceback` module itself, once for each code object and instruction.
"""

from __future__ import annotations

import functools
import linecache
import sys
import traceback
import weakref
from itertools import chain, repeat
from sys import getsizeof
from types import CodeType, FrameType, FunctionType, SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.lazy import Lazy
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Frame = tuple[CodeType, int, int]

_CAUSE: Final = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT: Final = "\nDuring handling of the above exception, another exception occurred:\n\n"
# traceback._RECURSIVE_CUTOFF: how many equal frames in a row are shown.
_RECURSIVE_CUTOFF: Final = 3
# From so many frames on, a stack is kept as `RepeatedFrames`: it is probably that of a recursion.
_LONG: Final = 100
# The approximate size in bytes of a dict entry with a tuple and a weak reference.
_ENTRY: Final = 300
_GROUP: Any = getattr(sys.modules["builtins"], "BaseExceptionGroup", None)
# The last lines of these depend on more than the message: on source text, or on suggested names.
_TELLING = (SyntaxError, ImportError, NameError, AttributeError)

# By id of the code object, because equal code objects can come from different files and are slow to hash. The code is
# referenced weakly: code that is created while the program runs must not be kept alive.
_texts = Cache(4 << 20)
_known: Final = _texts.items
# The files whose source `linecache` can find without the globals of a frame, or cannot find at all.
_files = Cache(1 << 19)
_settled: Final = _files.items


def _rests_on() -> tuple[Any, ...]:
    """The functions and classes behind `traceback.format_exception` that the texts made here rely on."""
    trace, stack = traceback.TracebackException, traceback.StackSummary
    found = stack.__dict__
    return (
        traceback.format_exception,
        trace,
        trace.__init__,
        trace.format,
        trace.format_exception_only,
        traceback.FrameSummary,
        stack,
        found.get("format"),
        found.get("extract"),
        found.get("_extract_from_extended_frame_gen"),
        found.get("format_frame_summary"),
    )


def _is_library_s(value: Any) -> bool:
    """Whether it is from the standard library, or from `exceptiongroup`, the backport of exception groups to 3.10."""
    if value is None or isinstance(value, type):
        # None: this version of Python does not have it.
        return value is None or value.__module__ == traceback.__name__
    names = getattr(getattr(value, "__func__", value), "__globals__", {})
    return names is vars(traceback) or names.get("__name__") == "exceptiongroup._formatting"


_standard: tuple[Any, ...] | None = None


def is_standard() -> bool:
    """Whether the functions that format stack traces are not replaced: a replacement may remove secrets from them."""
    global _standard
    found = _rests_on()
    if found == _standard:
        return True
    if all(map(_is_library_s, found)):
        _standard = found
        return True
    return False


class RepeatedFrames:
    """The frames of a long stack, in little memory: those of a recursion are mostly the same few."""

    __slots__ = ("_counts", "_frames")

    def __init__(self, frames: list[Frame]) -> None:
        # Each frame that follows others, and how often it follows itself.
        self._frames: list[Frame] = []
        self._counts: list[int] = []
        known: dict[tuple[int, int, int], Frame] = {}
        previous = None
        for frame in frames:
            code, instruction, line = frame
            # Equal frames become one object. By the id of the code object, see `_texts`.
            kept = known.setdefault((id(code), instruction, line), frame)
            if kept is previous:
                self._counts[-1] += 1
            else:
                self._frames.append(kept)
                self._counts.append(1)
                previous = kept

    def __iter__(self) -> Iterator[Frame]:
        """All frames, each as often as it was there."""
        return chain.from_iterable(map(repeat, self._frames, self._counts))


class Stack(Lazy):
    """The text of one exception's stack trace, formatted when it is needed."""

    __slots__ = ()

    def __init__(self, links: list[tuple[Iterable[Frame], str, str]]) -> None:
        super().__init__(_text_of, (links,), {})

    def prepare(self, turn: Callable[[], None]) -> None:
        """Format the frames that are not cached yet, and call `turn` after each, because it may read a file."""
        call = self._call
        for frames, _, _ in call[1][0] if call is not None else ():
            for code, instruction, line in frames:
                if _text_known(code, instruction, line) is None:
                    _frame_text(code, instruction, line)
                    turn()


def snapshot(error: BaseException, outer: tuple[Frame, ...] = ()) -> Stack | str:
    """Capture the stack trace of an exception and of the exceptions chained to it.

    Args:
        error: The exception; its traceback may be None.
        outer: Frames to show before those of its traceback.

    Returns:
        A `Stack`, or the text itself if it cannot be made from what is captured here.

    Raises:
        Exception: What the `traceback` module raises, for example an error of the exception's own methods.
    """
    # Before 3.11 groups come from the backport, which changes the `traceback` module to format them.
    group = _GROUP or getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", ())
    if getattr(sys, "tracebacklimit", None) is not None:
        return _text_now(error, outer)
    links: list[tuple[Iterable[Frame], str, str]] = []
    seen = {id(error)}
    link, joint = error, ""
    try:
        # An exception can be false. The `traceback` module leaves out what is chained to such a one.
        while link and not isinstance(link, group):
            links.append((_frames(link, () if links else outer), _last_lines(link), joint))
            cause, context = link.__cause__, link.__context__
            if cause is not None and id(cause) not in seen:
                link, joint = cause, _CAUSE
            elif context is not None and not link.__suppress_context__ and id(context) not in seen:
                link, joint = context, _CONTEXT
            else:
                return Stack(links)
            seen.add(id(link))
    except Exception as fault:
        # An error of the exception's own methods is left to the `traceback` module.
        faults.raise_interruption(fault)
        if faults.ours(fault):
            faults.report("stack traces", fault)
    return _text_now(error, outer)


def text(error: BaseException) -> str:
    """Format an exception's stack trace now, with the cached texts of frames. Errors are raised."""
    made = snapshot(error)
    return made if isinstance(made, str) else _text_of(*made._call[1])


def record_under(record: Callable[..., object], error: BaseException, outer: tuple[Frame, ...], *args: Any) -> None:
    """Call `record` while these frames are above those of the exception's traceback."""
    own = error.__traceback__
    try:
        error.__traceback__ = under(own, outer)
    except Exception as fault:
        faults.absorb_any("Span.record_exception", fault)
    try:
        record(*args)
    finally:
        error.__traceback__ = own


def under(step: TracebackType | None, outer: tuple[Frame, ...]) -> TracebackType | None:
    """The traceback with these frames above it."""
    for code, instruction, line in reversed(outer):
        step = TracebackType(step, _frame_of(code), instruction, line)
    return step


@functools.cache
def _frame_of(code: CodeType) -> FrameType:
    """A frame of a generator function's code, which is not run."""
    # With its module's globals: those who read frames name the module and find the source by them.
    modules = (module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == code.co_filename)
    names = next(map(vars, modules), {})
    generator = FunctionType(code, names)(*[None] * code.co_argcount)
    frame: FrameType = generator.gi_frame
    return frame


def _frames(error: BaseException, outer: tuple[Frame, ...]) -> Iterable[Frame]:
    frames = list(outer)
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename not in _settled:
            _settle_source(code, step)
        frames.append((code, step.tb_lasti, step.tb_lineno))
        step = step.tb_next
    return frames if len(frames) < _LONG else RepeatedFrames(frames)


def _settle_source(code: CodeType, step: TracebackType) -> None:
    """Make sure that the source can be found later, when the frame's globals are gone."""
    file = code.co_filename
    was_there = file in linecache.cache
    names = step.tb_frame.f_globals
    # The loader of a module from a zip file or an import hook is only known here.
    if linecache.lazycache(file, names) and names.get("__file__") != file:
        # Code compiled under another file name than its module's: the number of such names is unlimited, and
        # `linecache` keeps the source of the whole module for each.
        if _text_known(code, step.tb_lasti, step.tb_lineno) is None:
            _frame_text(code, step.tb_lasti, step.tb_lineno)
        entry = linecache.cache.get(file, ())
        # The entry of an existing file stays: the second of its four items is the modification time.
        if not was_there and (len(entry) == 1 or (entry and entry[1] is None)):
            linecache.cache.pop(file, None)
        return
    _files.keep(file, None, getsizeof(file) + _ENTRY)


def _last_lines(error: BaseException) -> str:
    kind = type(error)
    if issubclass(kind, _TELLING):
        return _last_lines_by_traceback(error)
    name = kind.__qualname__
    module: str | None = kind.__module__
    try:
        # Twice, as the `traceback` module does: the first may return an instance of a subclass.
        message = str(str(error))
        notes = getattr(error, "__notes__", None)
    except BaseException as fault:
        if faults.is_interruption(fault):
            raise
        # The `traceback` module writes it into the text.
        module = None
    if type(module) is not str or notes is not None:
        return _last_lines_by_traceback(error)
    if module not in {"__main__", "builtins"}:
        name = f"{module}.{name}"
    return f"{name}: {message}\n" if message else f"{name}\n"


def _last_lines_by_traceback(error: BaseException) -> str:
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    last = traceback.TracebackException(type(error), error, step, limit=0, compact=True)
    return "".join(last.format_exception_only())


def _text_now(error: BaseException, outer: tuple[Frame, ...]) -> str:
    return "".join(traceback.format_exception(type(error), error, under(error.__traceback__, outer)))


def _text_of(links: list[tuple[Iterable[Frame], str, str]]) -> str:
    parts: list[str] = []
    for frames, last_lines, joint in reversed(links):
        if frames:
            parts.append("Traceback (most recent call last):\n")
            _add_frames(parts, frames)
        parts.append(last_lines)
        parts.append(joint)
    return "".join(parts)


def _add_frames(parts: list[str], frames: Iterable[Frame]) -> None:
    """Add what `traceback.StackSummary.format` returns, with repeated frames shortened."""
    previous: Any = None
    count = 0
    for code, instruction, line in frames:
        key = (code.co_filename, line, code.co_name)
        if key != previous:
            _add_repeats(parts, count)
            previous, count = key, 0
        count += 1
        if count <= _RECURSIVE_CUTOFF:
            known = _known.get((id(code), instruction, line))
            parts.append(known[1] if known is not None and known[0]() is code else _frame_text(code, instruction, line))
    _add_repeats(parts, count)


def _add_repeats(parts: list[str], count: int) -> None:
    more = count - _RECURSIVE_CUTOFF
    if more > 0:
        parts.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n")


def _text_known(code: CodeType, instruction: int, line: int) -> str | None:
    known = _known.get((id(code), instruction, line))
    return known[1] if known is not None and known[0]() is code else None


def _frame_text(code: CodeType, instruction: int, line: int) -> str:
    stand_in = SimpleNamespace(f_code=code, f_globals={}, f_locals={}, f_lineno=line)
    step = SimpleNamespace(tb_frame=stand_in, tb_lasti=instruction, tb_lineno=line, tb_next=None)
    with_positions = getattr(traceback, "_walk_tb_with_full_positions", None)
    if with_positions is None:
        summary = traceback.StackSummary.extract([(stand_in, line)])  # type: ignore[list-item]
    else:
        summary = traceback.StackSummary._extract_from_extended_frame_gen(with_positions(step))  # type: ignore[attr-defined]
    text = "".join(summary.format())
    _texts.keep((id(code), instruction, line), (weakref.ref(code), text), getsizeof(text) + _ENTRY)
    return text
