"""`otel-fastpath run`: does what `opentelemetry-instrument` does, for a Python program in one interpreter.

`opentelemetry-instrument` is a Python program itself: it puts a folder with a `sitecustomize` on PYTHONPATH, and
replaces its process by the command, whose interpreter imports that module. Here the interpreter that is running already
imports it, and then runs the program as its `__main__`. PYTHONPATH is set in the same way, for child processes.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import io
import linecache
import os
import shutil
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_AUTO: Final = "opentelemetry.instrumentation.auto_instrumentation"
_SITE: Final = "sitecustomize"
# The exit status of a shell for a command that does not exist, and the interpreter's for an uncaught exception.
_NOT_FOUND: Final = 127
_UNCAUGHT: Final = 1


class _PythonProgram(NamedTuple):
    """A Python program that this interpreter can run.

    Attributes:
        argv: `sys.argv` while it runs, at first.
        original: The interpreter's arguments, as in `sys.orig_argv`.
        first: The first entry of `sys.path`: where the program is.
        loader: The `__loader__` of its `__main__`; None: it is the module `name`, which is run as by `python -m`.
        name: The file name of its code, or the module's.
        source: Its code.
    """

    argv: list[str]
    original: list[str]
    first: str
    loader: Any
    name: str
    source: bytes | str = ""


def run(command: Sequence[str]) -> int:
    """Run a command with OpenTelemetry set up, and return its exit status.

    A command that is not a Python program of this environment, or that needs options of the interpreter, replaces this
    process, as with `opentelemetry-instrument`; then this function does not return.

    Args:
        command: The command and its arguments.
    """
    executable = shutil.which(command[0])
    if executable is None:
        # A terminal would act upon what it cannot print.
        name = command[0] if command[0].isprintable() else repr(command[0])
        sys.stderr.write(f"otel-fastpath: {name}: command not found\n")
        return _NOT_FOUND
    program = _program(executable, list(command[1:]))
    folder = _folder()
    added = settings.extend_python_path([folder, os.getcwd()])  # noqa: PTH109  # sys.path holds strings
    if program is None:
        os.execl(executable, executable, *command[1:])  # noqa: S606  # the command that the user has asked for
    _take_place(program, added)
    _set_up(folder)
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, program.first)
    return _execute(program, _main(program))


def _main(program: _PythonProgram) -> dict[str, Any]:
    """Replace `__main__`, and return the attributes that the interpreter gives it."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    names = vars(main)
    names.update(__builtins__=builtins, __loader__=program.loader)
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    if isinstance(program.loader, SourceFileLoader):
        names["__file__"] = program.name
        if sys.version_info < (3, 15):
            names["__cached__"] = None
    return names


def _take_place(program: _PythonProgram, added: Sequence[str]) -> None:
    """Make this interpreter look as if it had been started for the program."""
    if not getattr(sys.flags, "safe_path", False):
        # Where this command itself is.
        del sys.path[0]
    sys.path[0:0] = added
    sys.argv = program.argv
    sys.orig_argv = program.original


def _set_up(folder: str) -> None:
    """Import OpenTelemetry's `sitecustomize`, unless this interpreter did so when it was started."""
    present = getattr(sys.modules.get(_SITE), "__file__", None) or ""
    if os.path.dirname(present) == folder:  # noqa: PTH120  # pathlib would be imported by each program
        return
    # That of the environment was imported by this interpreter; `opentelemetry-instrument` hides it.
    sys.modules.pop(_SITE, None)
    spec = importlib.util.spec_from_file_location(_SITE, os.path.join(folder, f"{_SITE}.py"))  # noqa: PTH118  # likewise
    if spec is not None and spec.loader is not None:
        sys.modules[_SITE] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def _execute(program: _PythonProgram, names: dict[str, Any]) -> int:
    try:
        if program.loader is None:
            _runpy()._run_module_as_main(program.name)
        else:
            code = compile(program.source, program.name, "exec", dont_inherit=True)
            if program.loader is BuiltinImporter:
                _keep_lines(code, program)
            exec(code, names)  # noqa: S102  # the user's
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        # The interpreter itself has to see it, to end the process as the signal does.
        _trim_when_shown(error)
        raise
    except BaseException as error:
        # As the interpreter does, without the frames of this package.
        trace = error.__traceback__ and error.__traceback__.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        return _UNCAUGHT
    return 0


def _trim_when_shown(error: BaseException) -> None:
    """Keep the frames of this package out of the traceback that the program's `sys.excepthook` gets."""
    hook = sys.excepthook
    trace = error.__traceback__ and error.__traceback__.tb_next

    def show(kind: type[BaseException], shown: BaseException, _trace: Any) -> None:
        sys.excepthook = hook
        shown.__traceback__ = trace
        hook(kind, shown, trace)

    sys.excepthook = show


def _keep_lines(code: CodeType, program: _PythonProgram) -> None:
    """Let tracebacks show the lines of `-c`, as they do since Python 3.13."""
    # What the interpreter calls is not public.
    with contextlib.suppress(Exception):
        # In the first releases, the lines were kept by the name of the file.
        key = code if hasattr(linecache, "_interactive_cache") else program.name
        linecache._register_code(key, program.source, program.name)  # type: ignore[attr-defined]  # see above


def _folder() -> str:
    """The folder of OpenTelemetry's `sitecustomize`."""
    spec = importlib.util.find_spec(_AUTO)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{_AUTO} is not installed", name=_AUTO)
    return os.path.dirname(os.path.abspath(spec.origin))  # noqa: PTH100, PTH120  # see above


def _program(executable: str, arguments: list[str]) -> _PythonProgram | None:
    """The Python program that a command runs; None if it is none, or one that needs an interpreter of its own."""
    if not _is_this_interpreter(executable):
        return _script(executable, arguments, [sys.executable, executable]) if _has_our_shebang(executable) else None
    original = [executable, *arguments]
    first, *others = arguments or [""]
    # Newer interpreters take common indentation away.
    if first == "-c" and others and not others[0][:1].isspace():
        return _PythonProgram(["-c", *others[1:]], original, "", BuiltinImporter, "<string>", others[0])
    if first == "-m" and others and hasattr(_runpy(), "_run_module_as_main"):
        return _PythonProgram(["-m", *others[1:]], original, os.getcwd(), None, others[0])  # noqa: PTH109  # as above
    if first and not first.startswith("-"):
        return _script(first, others, original[: 1 - len(arguments)] if others else original)
    return None


def _script(path: str, arguments: list[str], original: list[str]) -> _PythonProgram | None:
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError:
        return None
    # A compiled file, or an archive.
    if b"\0" in source:
        return None
    folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120  # see above
    name = os.path.abspath(path)  # noqa: PTH100  # see above
    loader = SourceFileLoader("__main__", name)
    return _PythonProgram([path, *arguments], [*original, *arguments], folder, loader, name, source)


def _runpy() -> Any:
    import runpy  # noqa: PLC0415  # only for `-m`

    return runpy


def _is_this_interpreter(executable: str) -> bool:
    """Whether it is this interpreter, of this environment."""
    try:
        is_here = os.path.samefile(os.path.dirname(executable), os.path.dirname(sys.executable))  # noqa: PTH120, PTH121
        return is_here and os.path.samefile(executable, sys.executable)  # noqa: PTH121  # see above
    except OSError:
        return False


def _has_our_shebang(path: str) -> bool:
    """Whether this interpreter runs the file, without options."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # see above
            line = file.readline(4096)
        return line.startswith(b"#!") and _is_this_interpreter(os.fsdecode(line[2:].strip()))
    except OSError:
        return False
