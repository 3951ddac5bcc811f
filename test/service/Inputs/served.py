"""A scheduler process of accord for tests: started, asked over its REST interface, killed, started again."""
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request


class Served:
    """`accord serve` with a state in a folder; `words` are further words of its command line."""

    def __init__(self, accord, folder, words, environment=None):
        self.accord, self.folder, self.words = accord, folder, list(words)
        self.environment = dict(os.environ, **(environment or {}))
        self.process, self.url, self.token = None, None, None
        os.makedirs(folder, exist_ok=True)
        self.log = os.path.join(folder, "serve.log")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, patience=30):
        port = self.url.rsplit(":", 1)[1] if self.url else "0"
        with open(self.log, "ab") as log:
            at = log.tell()
            self.process = subprocess.Popen(
                [self.accord, "serve", *self.words, "--listen", f"127.0.0.1:{port}", "--state", self.folder],
                stdout=log, stderr=log, env=self.environment, start_new_session=True)
        end = time.time() + patience
        while time.time() < end:
            with open(self.log, "rb") as log:
                log.seek(at)
                said = log.read().decode(errors="replace")
            if " at http" in said:
                self.url = said.split(" at ")[1].split()[0]
                break
            if self.process.poll() is not None:
                raise RuntimeError(f"accord serve ended with {self.process.returncode}: {said}")
            time.sleep(0.05)
        else:
            raise RuntimeError("accord serve does not listen")
        path = os.path.join(self.folder, "operator.token")
        if os.path.exists(path):
            with open(path) as file:
                self.token = file.read().strip()

    def kill(self):
        """As a machine that loses its power: at once."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def ask(self, method, path, body=None, token=None, patience=10):
        """The answer as JSON; an answer with an error is raised as RuntimeError with its text."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        if token or self.token:
            request.add_header("Authorization", f"Bearer {token or self.token}")
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{error.code}: {error.read().decode(errors='replace')}") from None
        return json.loads(text) if text else None

    def run(self, *words, check=True):
        """One of the commands that ask the scheduler."""
        done = subprocess.run([self.accord, *words], capture_output=True, text=True, timeout=60,
                              env=dict(self.environment, ACCORD_SERVER=self.url, ACCORD_TOKEN=self.token or ""))
        if check and done.returncode != 0:
            raise RuntimeError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def jobs(self):
        found, after = [], 0
        while True:
            page = self.ask("GET", f"/v1/jobs?limit=1000&after={after}")
            found += page["jobs"]
            after = page.get("next", 0)
            if not after:
                return found

    def wait(self, condition, seconds, what):
        end = time.time() + seconds
        while time.time() < end:
            if condition():
                return
            time.sleep(0.2)
        raise RuntimeError(f"after {seconds} s: {what}")
