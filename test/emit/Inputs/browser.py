"""Opens pages in a headless Chromium, and asks them through its pipe for tools (Chrome DevTools Protocol)."""
import base64
import json
import os
import subprocess
import sys
import tempfile

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]


def profile_folder():
    """Where a browser keeps its files. Some of its processes end after the first one, and write files while the folder is removed."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def dom_of(chromium, page, name, place=""):
    """The page's elements after its scripts, opened at `place` ("#op=…"); ends the process on any console message."""
    with profile_folder() as profile:
        flags = [*FLAGS, "--virtual-time-budget=2000", "--window-size=1280,1600", f"--user-data-dir={profile}",
                 "--enable-logging=stderr", "--v=0"]
        done = subprocess.run([chromium, *flags, "--dump-dom", "file://" + os.path.abspath(page) + place], check=True,
                              capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": profile})
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    for message in messages:
        print(message)
    if messages:
        sys.exit(1)
    print(f"{name}: no console message")
    return done.stdout


class Browser:
    """One Chromium with one tab. `messages`: what pages wrote to the console, and errors of their scripts."""

    def __init__(self, chromium):
        self.profile = profile_folder()
        commands, self.send = os.pipe()
        self.receive, answers = os.pipe()

        def pipes():  # the browser reads commands from 3 and writes answers to 4
            held = [os.dup(commands), os.dup(answers)]
            os.dup2(held[0], 3), os.dup2(held[1], 4)

        self.process = subprocess.Popen([chromium, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
                                         "about:blank"], preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.profile.name})
        os.close(commands), os.close(answers)
        self.rest, self.number, self.session, self.events, self.messages = b"", 0, None, set(), []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.send), os.close(self.receive)
        self.profile.cleanup()

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.receive, 1 << 20)
            if not more:
                sys.exit("the browser is gone")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        answer = json.loads(text)
        method, about = answer.get("method"), answer.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(about["exceptionDetails"].get("exception", {}).get("description", "an error"))
        elif method == "Log.entryAdded":
            self.messages.append(about["entry"]["text"])
        self.events.add(method)
        return answer

    def ask(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.send, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def size(self, width, height=900, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def load(self, address):
        """Each load is waited for: one that comes late would be taken for that of the next page."""
        self.events.discard("Page.loadEventFired")
        self.ask("Page.navigate", url=address)
        while "Page.loadEventFired" not in self.events:
            self.read()

    def open(self, page, place=""):
        self.load("about:blank")
        self.load("file://" + os.path.abspath(page) + place)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script):
        """What an expression of JavaScript is on the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            sys.exit(answer["exceptionDetails"].get("exception", {}).get("description", "an error") + f"\nin {script}")
        return answer["result"].get("value")

    def picture(self, file, whole=True):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    def cut(self):
        """Elements wider than the page, or whose text an ellipsis cuts where it cannot be read otherwise."""
        return self.run("""(() => {
  const wide = document.documentElement.clientWidth, found = [], said = e => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""} ${e.textContent.trim().slice(0, 40)}`;
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest("svg") && e.tagName !== "svg") continue;
    let scrolls = false;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) scrolls ||= getComputedStyle(p).overflowX !== "visible";
    if (box.right > wide + 0.5 && !scrolls) found.push(`beyond the page: ${said(e)}`);
    if (e.matches(".tile .value, .tile .label, h1, h2, button") && e.scrollWidth > e.clientWidth + 1) found.push(`cut: ${said(e)}`);
  }
  return found;
})()""")
