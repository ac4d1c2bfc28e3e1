# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its own protocol (DevTools) over two pipes: no driver and no port is needed."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

HANGS_S = 120


def high(fd):
    """The same pipe under a number that neither 3 nor 4 can meet."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD, 100)
    os.close(fd)
    return copy


class Browser:
    """One browser with one page. Whatever goes wrong in the page is in `trouble`: errors of scripts, messages on the console,
    and requests to anything but the page itself."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise SystemExit("chromium is not installed: packaging/install-packages.sh packaging/packages-test.txt")
        self.profile = tempfile.mkdtemp(prefix="haul-browser-")
        theirs_in, ours_out = map(high, os.pipe())
        ours_in, theirs_out = map(high, os.pipe())
        # The browser reads commands from descriptor 3 and writes answers to 4.
        redirected = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--force-device-scale-factor=1", f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.to, self.from_ = os.fdopen(ours_out, "wb", 0), os.fdopen(ours_in, "rb", 0)
        self.buffer, self.number, self.session, self.trouble, self.url, self.loaded = b"", 0, None, [], None, False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(HANGS_S)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            part = self.from_.read(1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.trouble.append(params["exceptionDetails"].get("exception", params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" or (method == "Log.entryAdded" and params["entry"]["level"] != "info"):
            self.trouble.append(params)
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if url != self.url and not url.startswith("data:"):
                self.trouble.append(f"a request to {url}")

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        self.to.write(json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") != self.number:
                self.event(message)
            elif "error" in message:
                raise AssertionError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression; of a promise, what it comes to."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{expression[:200]}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def open(self, path, width=1280, height=900, dark=False):
        self.trouble.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.media("screen", dark)
        self.url, self.loaded = f"file://{path}", False
        self.call("Page.navigate", url=self.url)
        while not self.loaded:
            self.event(self.message())

    def media(self, kind, dark=False):
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def processor_s(self):
        """Processor seconds of the page's thread: other work on the machine does not count."""
        metrics = {m["name"]: m["value"] for m in self.call("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, height_max=12000):
        """The page from its top. A browser cannot paint a picture of any height."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height_max), "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as f:
            f.write(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
