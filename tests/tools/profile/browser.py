"""A headless Chromium, driven through its debugging protocol."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.request

from websockets.sync.client import connect

CHROMIUM = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)
PATIENCE = 60


class Browser:
    """A page in the browser.

    Args:
        socket: The connection to the page.
    """

    def __init__(self, socket):
        self._socket = socket
        self._number = 0
        self.errors = []

    def call(self, method, **parameters):
        """Call a method of the protocol; its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                self.errors.append(answer["params"])
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def ask(self, expression):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, address):
        """Open a page and wait until it is complete."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)
        end = time.monotonic() + PATIENCE
        while self.ask("document.readyState + location.href") != f"complete{address}":
            assert time.monotonic() < end
            time.sleep(0.05)

    def click(self, element):
        """Click an element, an expression, with the mouse, near its left end."""
        self.ask(f"({element}).scrollIntoView({{block: 'center'}})")
        box = self.ask(
            f"(() => {{ const b = ({element}).getBoundingClientRect(); return [b.x + 2, b.y + b.height / 2]; }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def write(self, text):
        """Type a text."""
        self.call("Input.insertText", text=text)

    def press(self, key):
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)


@contextlib.contextmanager
def browser(folder):
    """Start a browser with its files in this folder; yields a page."""
    process = subprocess.Popen(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
         f"--user-data-dir={folder}", "--remote-debugging-port=0", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        file, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE
        while not (file.exists() and "\n" in file.read_text()):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        port = file.read_text().splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:  # loopback
            page = next(each for each in json.load(answer) if each["type"] == "page")
        with connect(page["webSocketDebuggerUrl"], max_size=None, proxy=None) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        process.wait(PATIENCE)
