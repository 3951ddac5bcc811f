"""A page in a headless Chromium, driven over a pipe by the DevTools protocol: messages in JSON, each ended by a zero byte."""
import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--hide-scrollbars"]


def high_pipe():
    """A pipe whose numbers are not 3 and 4, which the browser wants."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in low]
    for end in low:
        os.close(end)
    return high


class Browser:
    def __init__(self, chromium):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, self.to_browser = high_pipe()
        self.from_browser, to_us = high_pipe()
        command = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us} {from_us}<&- {to_us}>&-'
        self.process = subprocess.Popen(["bash", "-c", command, chromium, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
                                        pass_fds=(from_us, to_us), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.profile.name}, start_new_session=True)
        os.close(from_us)
        os.close(to_us)
        self.rest, self.number, self.session = b"", 0, None
        self.messages = []  # of the console, and what was thrown
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t for t in targets if t["type"] == "page")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def read(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def note(self, message):
        of = message.get("params", {})
        if message.get("method") == "Runtime.consoleAPICalled":
            self.messages.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in of["args"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.messages.append("thrown: " + details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Log.entryAdded":
            self.messages.append(f"{of['entry']['level']}: {of['entry']['text']} {of['entry'].get('url', '')}")
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.messages.append("dialog: " + of["message"])

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 20
        while True:
            answer = self.read(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def value(self, expression):
        """What an expression is in the page, after what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=15):
        until = time.monotonic() + seconds
        while not (value := self.value(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"it never was so: {expression}")
            time.sleep(0.05)
        return value

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def leave(self):
        """Ends the page that is open, and what it asks for."""
        self.open("about:blank")

    def size(self, width, height, scheme="light", motion="no-preference"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}])

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, 0)
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def close(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        for end in (self.to_browser, self.from_browser):
            os.close(end)
        self.profile.cleanup()
