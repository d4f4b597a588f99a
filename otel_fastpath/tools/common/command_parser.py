"""The parser of the commands: what is wrong with the arguments is said in one line, as all other errors are."""

from __future__ import annotations

import argparse
import re
from typing import Final, NoReturn

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.common.exit_codes import Exit

_ARGUMENT: Final = re.compile(r"argument (\S+): ")
_CHOICE: Final = re.compile(r"""argument \S+: invalid choice: (['"])(.*?)\1(?:,.*)? \(choose from (.+)\)""")


class CommandParser(argparse.ArgumentParser):
    """Says what is wrong without the usage, which is longer than the message."""

    def error(self, message: str) -> NoReturn:
        """Write one line that names the value and what was expected, and end the process."""
        command = self.prog.partition(" ")[2]
        if choice := _CHOICE.fullmatch(message):
            message = f"{command} {choice[2]}: expected one of {choice[3]}".replace("'", "").lstrip()
        elif _ARGUMENT.match(message):
            message = _ARGUMENT.sub(r"\1 ", message, count=1)
        else:
            message = f"{command}: {message}; `{self.prog} --help` names all options".lstrip(": ")
        complain(message)
        raise SystemExit(Exit.USAGE)
