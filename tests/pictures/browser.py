"""Headless Chromium over its debugging pipe: the little of the DevTools protocol that the tests need."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
]  # fmt: skip
SECONDS = 60


class Browser:
    """One browser with one tab; it collects what the tab requests and complains about."""

    def __init__(self, profile: Path) -> None:
        read, child_write = os.pipe()
        child_read, self._write = os.pipe()

        def take_places() -> None:  # the browser reads from 3 and writes to 4
            first, second = (fcntl.fcntl(handle, fcntl.F_DUPFD, 10) for handle in (child_read, child_write))
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [str(CHROMIUM), *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=take_places,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_read)
        os.close(child_write)
        self._stream = os.fdopen(read, "rb")
        self._number = 0
        self._session: str | None = None
        self._buffer = b""
        self.problems: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Ends the browser."""
        self._session = None
        self.call("Browser.close")
        os.close(self._write)
        self._process.wait(timeout=SECONDS)
        self._stream.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command; events that come before it are collected."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return dict(found["result"])
            self._collect(found)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._stream], [], [], SECONDS)[0]:
                raise RuntimeError("the browser is silent")
            part = os.read(self._stream.fileno(), 1 << 16)
            if not part:
                raise RuntimeError("the browser has gone")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def _collect(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.problems.append(json.dumps(parameters)[:500])

    def run(self, script: str) -> Any:
        """The value of an expression in the tab."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise RuntimeError(f"never: {condition}")
            time.sleep(0.05)

    def open(self, file: Path) -> None:
        """Loads a page and waits until its script has run."""
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=file.as_uri())
        here = f"location.href === {json.dumps(file.as_uri())} && document.readyState === 'complete'"
        self.wait(f"{here} && document.documentElement.dataset.ready === 'yes'")

    def press(self, key: str, code: int) -> None:
        """A key goes down and up."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
