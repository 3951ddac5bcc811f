"""What an editor may do to accord-lsp: long files, half-written text, other alphabets, edits while it works, thousands of
edits, and messages that are none.

usage: strain.py SOURCE WORK [--times]
"""
import os
import random
import sys
import time

from lsp import Client, place_of

source, work = sys.argv[1], os.path.realpath(sys.argv[2])
os.makedirs(work, exist_ok=True)
with open(os.path.join(source, "examples/03-own-model/tiny_lm.dnn"), encoding="utf-8") as file:
    text = file.read()
times = {}


def check(condition, *what):
    assert condition, what


def timed(name, call):
    begin = time.monotonic()
    answer = call()
    times.setdefault(name, []).append(time.monotonic() - begin)
    return answer


client = Client(["accord-lsp"])
client.initialize()

# ---- Columns are units of UTF-16, whatever ends the lines
accents = '/// Größe in 𝔹ytes: ⌈x⌉\nlet größe = 1\nlet size = 4 KiB\nlet 𝔹 = size\naccelerator a { area = size }\n'
for end in ("\n", "\r\n", "\r"):
    written = accents.replace("\n", end)
    path = f"{work}/accents{len(end)}{ord(end[0])}.accel"
    uri = client.open(path, written)
    found = client.wait_diagnostics(uri, 0)
    first = min(found, key=lambda one: (one["range"]["start"]["line"], one["range"]["start"]["character"]))
    check(first["range"]["start"] == {"line": 1, "character": 6}, found)
    # Behind a character of two units.
    client.change(uri, {"range": {"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 6}}, "text": "b"})
    client.change(uri, {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}, "text": ""})
    answer = client.at("hover", uri, 1, 5)
    check("4 KiB" in answer["contents"]["value"] or "4.096" in answer["contents"]["value"], answer)
    place = client.at("definition", uri, 2, 9)
    check(place["range"]["start"] == {"line": 1, "character": 4}, place)
    # A column between the halves, one beyond the line, a line beyond the file.
    for line, column in ((0, 15), (0, 4000), (4000, 0), (2**31, 2**31)):
        client.at("hover", uri, line, column)
        client.at("completion", uri, line, column)
    client.close(uri)

# ---- Every beginning of a file, and every file with a hole: something is answered, and the server lives
uri = client.open(work + "/broken.dnn", "")
chance = random.Random(1)
everything = ("completion", "hover", "definition", "documentHighlight")
for i in range(0, len(text), 37):
    hole = chance.randrange(1, 60)
    broken = text[:i] if i % 2 else text[:i] + text[i + hole:]
    client.change(uri, {"text": broken})
    line, column = place_of(broken + "\0", "\0") if i % 2 else place_of(broken[:i] + "\0", "\0")
    for method in everything:
        client.at(method, uri, line, column)
    for method in ("documentSymbol", "foldingRange", "semanticTokens/full", "formatting", "codeLens"):
        client.ask("textDocument/" + method, {"textDocument": {"uri": uri}})
for odd in ("", "\n", "{", "}" * 3000, "{" * 3000, "(" * 300, '"', "//", "import", 'import "', "train", "train t = ", "let a = a",
            "\0", "\ufeff" + text, "x" * 100000, "accelerator a { memory m : ", "model m { let x = linear(", "-" * 5000,
            'import "broken.dnn"', "let a = 1 / 0", "train t = m() on t { batch = }", "repeat", "a.b.c.d", "𝔹" * 1000):
    client.change(uri, {"text": odd})
    end = place_of(odd + "\1", "\1")
    for method in everything:
        client.at(method, uri, *end)
    client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
reply = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}})
check("result" in reply or reply["error"]["code"] == -32801, reply)

# ---- Messages that are none
for method, parameters in (("textDocument/hover", {}), ("textDocument/hover", {"textDocument": {"uri": uri}}),
                           ("textDocument/hover", {"textDocument": {"uri": 3}, "position": []}),
                           ("textDocument/hover", {"textDocument": {"uri": "untitled:1"}, "position": {}}),
                           ("textDocument/completion", {"textDocument": {"uri": uri},
                                                        "position": {"line": -1, "character": 0}}),
                           ("textDocument/rename", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}),
                           ("textDocument/codeAction", {"textDocument": {"uri": uri}}),
                           ("textDocument/hover", {"textDocument": {"uri": "file:///nowhere.dnn"},
                                                   "position": {"line": 0, "character": 0}})):
    check(client.request(method, parameters)["error"]["code"] in (-32602, -32803), method, parameters)
for method, parameters in (("textDocument/didOpen", {}), ("textDocument/didChange", {}), ("textDocument/didClose", {}),
                           ("textDocument/didChange", {"textDocument": {"uri": uri}, "contentChanges": [{}]}),
                           ("textDocument/didChange", {"textDocument": {"uri": uri}, "contentChanges": [{"range": 1, "text": ""}]}),
                           ("textDocument/nothing", {}), ("$/setTrace", {"value": "off"})):
    client.notify(method, parameters)
client.send_raw(b"Content-Length: 5\r\n\r\n{]}[x")
client.at("hover", uri, 0, 0)

# ---- Withdrawn requests: those that were not begun are not answered
client.change(uri, {"text": text})
numbers = [client.start("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}}) for _ in range(40)]
for number in numbers[1:]:
    client.notify("$/cancelRequest", {"id": number})
replies = [client.reply(number) for number in numbers]
check(all("result" in one or one["error"]["code"] == -32800 for one in replies), replies[-1])

# ---- Numbers are withdrawn by an edit
number = client.start("textDocument/inlayHint", {"textDocument": {"uri": uri}})
client.change(uri, {"text": text + " "})
reply = client.reply(number)
check("result" in reply or reply["error"]["code"] == -32801, reply)
client.close(uri)

# ---- A long file: 20,000 lines
part = """module part{0}(x, hidden) -> y {{
  let a = linear(x, out = hidden)
  let b = gelu(a)
  let y = linear(b, out = hidden)
}}
"""
long = "".join(part.format(i) for i in range(4000))
check(long.count("\n") == 20000)
uri = client.open(work + "/long.dnn", long)
client.wait_diagnostics(uri, 0)
for i in range(12):
    line = 10002 + 5 * i
    client.change(uri, {"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}, "text": " "})
    items = timed("completion", lambda: client.at("completion", uri, line, 11))["items"]
    check(any(one["label"] == "gelu" for one in items), line)
for i in range(6):
    client.change(uri, {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}, "text": " "})
    timed("hover", lambda: client.at("hover", uri, 10001, 12))
client.change(uri, {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}, "text": " "})
timed("tokens", lambda: client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}}))
client.change(uri, {"range": {"start": {"line": 12000, "character": 0}, "end": {"line": 12000, "character": 2}}, "text": "}{"})
timed("hover in a broken file", lambda: client.at("hover", uri, 10001, 12))
client.close(uri)

# ---- Memory stays where it is
uri = client.open(work + "/many.dnn", text)
edits = int(os.environ.get("ACCORD_EDITS", "1000"))


def edit(times):
    for i in range(times):
        line, column = i % 40, 0
        client.change(uri, {"range": {"start": {"line": line, "character": column}, "end": {"line": line, "character": column}},
                            "text": "x" if i % 2 == 0 else ""},
                      *([] if i % 2 == 0 else [{"text": text}]))
        if i % 10 == 0:
            client.at("completion", uri, line, 1)
            client.at("hover", uri, line, 5)
    client.wait_diagnostics(uri, client.received.get(uri, 0))


edit(200)
before = client.resident_kib()
edit(edits)
after = client.resident_kib()
check(after - before < 32 * 1024, before, after)
check(client.shutdown() == 0)

# ---- An editor that goes away, and exit without shutdown
client = Client(["accord-lsp"])
client.initialize()
client.notify("exit")
check(client.process.wait(timeout=60) == 1)
client = Client(["accord-lsp"])
client.initialize()
client.open(work + "/long.dnn", long)
client.process.stdin.close()
check(client.process.wait(timeout=60) == 1)

if "--times" in sys.argv:
    for name, all_of in times.items():
        print(f"{name}: {1e3 * sorted(all_of)[len(all_of) // 2]:.0f} ms, at most {1e3 * max(all_of):.0f} ms")
    print(f"memory: {before} KiB, after {edits} edits {after} KiB")
print("done")
