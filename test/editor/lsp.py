"""A client of the language server protocol over standard input and output, for tests of accord-lsp."""
import json
import os
import queue
import subprocess
import threading


class Client:
    def __init__(self, command, timeout=120):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.timeout = timeout
        self.next_id = 0
        self.versions = {}
        self.messages = queue.Queue()
        self.replies = {}
        self.diagnostics = {}  # by URI: the last ones, and how often they came
        self.received = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    self.messages.put(None)
                    return
                line = line.strip()
                if not line:
                    break
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.messages.put(json.loads(out.read(length)))

    def send_raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def _take(self):
        message = self.messages.get(timeout=self.timeout)
        if message is None:
            raise EOFError("the server went away")
        if message.get("method") == "textDocument/publishDiagnostics":
            uri = message["params"]["uri"]
            self.diagnostics[uri] = message["params"]["diagnostics"]
            self.received[uri] = self.received.get(uri, 0) + 1
        elif "id" in message and "method" not in message:
            self.replies[message["id"]] = message
        return message

    def start(self, method, params=None):
        """Sends a request without waiting for its reply; returns its id."""
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params if params is not None else {}})
        return self.next_id

    def reply(self, number):
        while number not in self.replies:
            self._take()
        return self.replies.pop(number)

    def request(self, method, params=None):
        """The whole reply, with "result" or "error"."""
        return self.reply(self.start(method, params))

    def ask(self, method, params=None):
        reply = self.request(method, params)
        assert "error" not in reply, (method, params, reply["error"])
        return reply["result"]

    def notify(self, method, params=None):
        self.send({"method": method, "params": params if params is not None else {}})

    def initialize(self, **capabilities):
        item = {"snippetSupport": True}
        result = self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {
            "textDocument": {"completion": {"completionItem": item}}, **capabilities}})
        self.notify("initialized")
        return result

    def open(self, path, text=None):
        if text is None:
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
        uri = uri_of(path)
        self.versions[uri] = 1
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": uri, "languageId": "accord", "version": 1, "text": text}})
        return uri

    def change(self, uri, *changes):
        self.versions[uri] += 1
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": self.versions[uri]},
                                               "contentChanges": list(changes)})

    def close(self, uri):
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def wait_diagnostics(self, uri, after):
        """Those that come for the file after so many that were received before."""
        while self.received.get(uri, 0) <= after:
            self._take()
        return self.diagnostics[uri]

    def at(self, method, uri, line, character, **more):
        return self.ask("textDocument/" + method, {
            "textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more})

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("VmRSS:")).split()[1])

    def shutdown(self):
        self.ask("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=self.timeout)


def uri_of(path):
    return "file://" + os.path.abspath(path)


def place_of(text, needle, offset=0, occurrence=0):
    """Line and column (in units of UTF-16) of a piece of a text."""
    at = -1
    for _ in range(occurrence + 1):
        at = text.index(needle, at + 1)
    before = text[: at + offset]
    line = before.count("\n")
    column = len(before.rsplit("\n", 1)[-1].encode("utf-16-le")) // 2
    return line, column
