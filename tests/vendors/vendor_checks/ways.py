"""Runs the program in a vendor's environment, in one of the ways, and returns what the vendor's transport sent."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vendor_checks.catalogue import FOLDER
from vendor_checks.environment import CACHE
from vendor_checks.normalise import Normal, normalise
from vendor_checks.protocols import decode
from vendor_checks.receiver import Receiver

if TYPE_CHECKING:
    from pathlib import Path

    from vendor_checks.catalogue import Vendor
    from vendor_checks.environment import Environment
    from vendor_checks.items import Item
    from vendor_checks.receiver import Request

STOCK, STOCK_LAUNCHER = "stock", "launcher-stock"
# Each way of ours, and the stock one that it is compared with.
WAYS = {"first": STOCK, "second": STOCK, "launcher": STOCK_LAUNCHER}
PATIENCE_S = 180
CERTIFICATE = CACHE / "loopback.pem"
_MAKING = threading.Lock()
# The caller of the program's remote spans.
REMOTE = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
_LAST = 2500
_OURS = re.compile(r".*otel[-_]fastpath.*", re.IGNORECASE)


class RunError(Exception):
    """A run that proves nothing; the message says why."""


@dataclass(frozen=True)
class Run:
    """One run of the program.

    Attributes:
        sent: What arrived, ready to be compared.
        did: What otel-fastpath did in the process; see `program/main.py`.
        said: The lines of its output that name otel-fastpath.
    """

    sent: list[Normal]
    did: dict[str, Any]
    said: list[str]


def run(vendor: Vendor, environment: Environment, way: str) -> Run:
    """Run the program in one way.

    Raises:
        RunError: It failed, sent nothing, or otel-fastpath was active in a stock run or not active in the others.
    """
    work = work_folder(vendor)
    with Receiver(vendor.answers, certificate() if vendor.tls else None) as receiver:
        variables = surroundings(vendor, environment, way, receiver.address)
        launcher = [str(environment.bin / "opentelemetry-instrument")] if way.startswith("launcher") else []
        command = [*launcher, str(environment.bin / "python"), str(FOLDER / "program" / "main.py")]
        output = execute(command, variables, work, PATIENCE_S)
        requests = list(receiver.requests)
    (work.parent / f"{vendor.name}-{way}.log").write_text(output, encoding="utf-8")
    did = json.loads((work / "result.json").read_text(encoding="utf-8"))
    _check(way, did)
    items = [item for request in requests for item in _decoded(request, vendor)]
    sent = [
        item
        for item in normalise(items, vendor.volatile, vendor.replaced, REMOTE)
        if not any(re.search(each, f"{item.kind} {item.name}") for each in vendor.items_left_out)
    ]
    (work.parent / f"{vendor.name}-{way}.json").write_text("\n".join(item.text for item in sent), encoding="utf-8")
    spans = {span.span_id for item in items for span in item.spans}
    if len(spans) < vendor.fewest_spans:
        raise RunError(f"only {len(spans)} spans were sent\n{output[-_LAST:]}")
    return Run(sent, did, [line for line in output.splitlines() if _OURS.fullmatch(line) and " File " not in line])


def _decoded(request: Request, vendor: Vendor) -> list[Item]:
    """The items of a request that is compared."""
    if any(re.search(each, request.path) for each in vendor.left_out):
        return []
    try:
        return decode(request)
    except Exception as error:
        raise RunError(f"{request.method} {request.path} cannot be decoded: {error!r}") from error


def work_folder(vendor: Vendor) -> Path:
    """An empty folder: where the program runs, and its home."""
    folder = CACHE / "runs" / vendor.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def surroundings(vendor: Vendor, environment: Environment, way: str, receiver: str) -> dict[str, str]:
    """All environment variables of the process."""
    home = str(CACHE / "runs" / vendor.name)
    variables = {
        "PATH": f"{environment.bin}:{os.environ['PATH']}",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "PYTHONHASHSEED": "0",
        "OTEL_SERVICE_NAME": "vendors",
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "" if way == "launcher" else "fastpath",
        "OTEL_FASTPATH_CORE": "c",
        # What otel-fastpath adds on its own account is not the vendor's.
        "OTEL_FASTPATH_TELEMETRY": "same",
        "AWS_EC2_METADATA_DISABLED": "true",
        "VENDORS_SETUP": vendor.set_up,
        "VENDORS_WAY": way,
        "VENDORS_LEFT_TO_LAUNCHER": "set_up" if vendor.launcher_sets_up else "",
        "VENDORS_PARTS_LEFT_OUT": ",".join(vendor.parts_left_out),
        "VENDORS_RECEIVER": receiver,
        "VENDORS_RESULT": f"{home}/result.json",
    }
    places = {
        "{receiver}": receiver,
        "{port}": receiver.rpartition(":")[2],
        "{folder}": str(FOLDER / "program"),
        "{certificate}": str(CERTIFICATE),
    }
    for key, value in vendor.variables.items():
        variables[key] = re.sub(r"\{\w+\}", lambda found: places.get(found[0], found[0]), value)
    return variables


def certificate() -> Path:
    """A certificate for 127.0.0.1 with its key, made once.

    Raises:
        RunError: It cannot be made.
    """
    with _MAKING:
        return _certificate()


def _certificate() -> Path:
    if not CERTIFICATE.exists():
        made = CERTIFICATE.with_suffix(".new")
        names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", *names]
        try:
            subprocess.run([*command, "-keyout", made, "-out", made], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise RunError(f"openssl cannot make a certificate: {error}") from error
        made.rename(CERTIFICATE)
    return CERTIFICATE


def execute(command: list[str], variables: dict[str, str], folder: Path, seconds: float, **more: Any) -> str:
    """Run a process and return its output.

    Raises:
        RunError: It failed or took too long.
    """
    try:
        done = subprocess.run(
            command,
            env=variables,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            **more,
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
        raise RunError(f"it did not end within {seconds:.0f} s\n{output[-_LAST:]}") from None
    if done.returncode:
        raise RunError(f"it ended with {done.returncode}\n{done.stdout[-_LAST:]}")
    return done.stdout


def _check(way: str, did: dict[str, Any]) -> None:
    if way in WAYS:
        if did["core"] != "c" or not did["patches"].get("applied"):
            raise RunError(f"otel-fastpath was not active with its compiled core: {did}")
    elif did["core"] is not None:
        raise RunError(f"otel-fastpath was active in a stock run: {did}")
