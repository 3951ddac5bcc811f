"""More than 200 requests to accord-lsp over all that it offers. Each answer is compared with one that is found here by other
means: by searching the text, by matching brackets, by `accord fmt`, `accord list` and `accord compile`.

usage: requests.py SOURCE WORK
"""
import json
import os
import re
import subprocess
import sys

from lsp import Client, uri_of

source, work = sys.argv[1], os.path.realpath(sys.argv[2])
os.makedirs(work, exist_ok=True)
asked = {}


class Counting(Client):
    def start(self, method, params=None):
        asked[method] = asked.get(method, 0) + 1
        return super().start(method, params)


def check(condition, *what):
    assert condition, what


def accord(*arguments):
    return subprocess.run(["accord", *arguments], capture_output=True, text=True, check=False)


class Text:
    """A text with its places as editors count them: lines, and columns in units of UTF-16."""

    def __init__(self, text):
        self.text = text

    def place(self, offset):
        before = self.text[:offset]
        return {"line": before.count("\n"),
                "character": len(before.rsplit("\n", 1)[-1].encode("utf-16-le")) // 2}

    def offset(self, place):
        lines = self.text.split("\n")
        line = lines[place["line"]].encode("utf-16-le")[:2 * place["character"]].decode("utf-16-le")
        return sum(len(one) + 1 for one in lines[:place["line"]]) + len(line)

    def range(self, begin, end):
        return {"start": self.place(begin), "end": self.place(end)}

    def slice(self, at):
        return self.text[self.offset(at["start"]):self.offset(at["end"])]

    def words(self, word):
        """Begins of a word, outside of comments."""
        code = re.sub(r"//[^\n]*", lambda found: " " * len(found.group()), self.text)
        return [found.start() for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", code)]

    def applied(self, edits):
        text = self.text
        for edit in sorted(edits, key=lambda one: self.offset(one["range"]["start"]), reverse=True):
            begin, end = self.offset(edit["range"]["start"]), self.offset(edit["range"]["end"])
            text = text[:begin] + edit["newText"] + text[end:]
        return text


def write(name, text):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


# A machine, a file of modules that a model imports, and trainings; with characters of two and of four bytes before names.
machine = Text("""/// Größe 𝔹: a machine of this test
let lanes = 128
accelerator my_chip {
  clock = 1 GHz
  memory hbm : dram { capacity = 32 GiB source "𝔹uch, Größe", bandwidth = 1.2 TB/s }
  memory buffer : scratchpad { capacity = 32 MiB, bandwidth = 4096 B/cycle, queue = 8 }
  core mxu[4] : tensor { array = lanes x lanes, dataflow = weight_stationary, multiply = bf16, accumulate = fp32, reads = buffer }
  core lane[2] : vector { lanes = 2048, types = {fp32, bf16}, reads = buffer }
  path hbm -> buffer -> {mxu, lane}
  power { idle = 50 W, tdp = 250 W, mac = 0.6 pJ }
  area = 500 mm2
}
""")
modules = Text("""/// Two layers. Größe: 𝔹
module pair(x, inner, outer = 64) -> y {
  let h = gelu(linear(x, out = inner))  // 𝔹 h
  let y = linear(h, out = outer)
}

module twice(x, inner) -> y {
  let a = pair(x, inner)
  let y = a + pair(a, inner)
}
""")
model = Text("""import "chip.accel"
import "modules.dnn"

/// A model of this test.
model small(hidden = 64, rows = 256, seq = 16) {
  input tokens : int32[seq]
  input labels : int32[seq]
  var x = embedding(tokens, rows = rows, dim = hidden)
  repeat 2 as block {
    x = twice(x, 4 * hidden)
  }
  loss cross_entropy(linear(x, out = rows), labels)
}

train quick = small() on my_chip { batch = 8 }

train slow = small(hidden = 64, seq = 32) on my_chip {
  batch = 16
  precision = mixed(bf16)
  maximize throughput
}
""")
texts = {"chip.accel": machine, "modules.dnn": modules, "model.dnn": model}
client = Counting(["accord-lsp"])
check(client.request("textDocument/completion", {})["error"]["code"] == -32002)
capabilities = client.initialize()["capabilities"]
check(client.request("initialize", {})["error"]["code"] == -32600)
uris = {name: client.open(write(name, one.text), one.text) for name, one in texts.items()}
for name, uri in uris.items():
    check(client.wait_diagnostics(uri, 0) == [], name, client.diagnostics[uri])


def ask(method, name, **more):
    return client.ask("textDocument/" + method, {"textDocument": {"uri": uris[name]}, **more})


def at(method, name, offset, **more):
    return ask(method, name, position=texts[name].place(offset), **more)


# ---- Names: where they are declared, where they are used, and what changes with them
names = {  # name -> (file of its declaration, how often that word stands before it there, files and words that mean it)
    "pair": ("modules.dnn", 0, {"modules.dnn": (0, 1, 2)}),
    "twice": ("modules.dnn", 0, {"modules.dnn": (0,), "model.dnn": (0,)}),
    "small": ("model.dnn", 0, {"model.dnn": (0, 1, 2)}),
    "my_chip": ("chip.accel", 0, {"chip.accel": (0,), "model.dnn": (0, 1)}),
    "mxu": ("chip.accel", 0, {"chip.accel": (0, 1)}),
    "lane": ("chip.accel", 0, {"chip.accel": (0, 1)}),
    "buffer": ("chip.accel", 0, {"chip.accel": (0, 1, 2, 3)}),
    "hbm": ("chip.accel", 0, {"chip.accel": (0, 1)}),
    "tokens": ("model.dnn", 0, {"model.dnn": (0, 1)}),
    "labels": ("model.dnn", 0, {"model.dnn": (0, 1)}),
    "outer": ("modules.dnn", 0, {"modules.dnn": (0, 1)}),
    "h": ("modules.dnn", 0, {"modules.dnn": (0, 1)}),
    "hidden": ("model.dnn", 0, {"model.dnn": (0, 1, 2, 3)}),
    "seq": ("model.dnn", 0, {"model.dnn": (0, 1, 2, 3)}),
}
for word, (home, first, uses) in names.items():
    declared = texts[home].words(word)[first]
    expected = sorted((uris[name], texts[name].words(word)[k]) for name, which in uses.items() for k in which)
    for name, which in uses.items():
        for k in which:
            offset = texts[name].words(word)[k] + len(word) // 2
            found = at("definition", name, offset)
            check(found == {"uri": uris[home], "range": texts[home].range(declared, declared + len(word))}, word, found)
    offset = declared + len(word)  # the end of a name belongs to it
    found = at("references", home, offset, context={"includeDeclaration": True})
    shown = sorted((one["uri"], texts[os.path.basename(one["uri"])].offset(one["range"]["start"])) for one in found)
    check(shown == expected, word, shown, expected)
    found = at("references", home, offset, context={"includeDeclaration": False})
    check(len(found) == len(expected) - 1, word, found)
    found = at("documentHighlight", home, offset)
    check(sorted(texts[home].offset(one["range"]["start"]) for one in found) ==
          [place for uri, place in expected if uri == uris[home]], word, found)
    check(at("prepareRename", home, declared) == texts[home].range(declared, declared + len(word)), word)
    changes = at("rename", home, declared, newName="another_name")["changes"]
    check(sorted((uri, texts[os.path.basename(uri)].offset(edit["range"]["start"])) for uri, edits in changes.items()
                 for edit in edits) == expected, word, changes)
    hover = at("hover", home, declared)
    check(word in hover["contents"]["value"], word, hover)
    check(texts[home].slice(hover["range"]) == word, word, hover)
for wrong in ("", "2x", "a b", "if", "größe"):
    reply = client.request("textDocument/rename", {"textDocument": {"uri": uris["model.dnn"]}, "newName": wrong,
                                                   "position": model.place(model.words("small")[0])})
    check(reply["error"]["code"] == -32803, wrong, reply)

# ---- Explanations of what the language has
for name, word, said in (("model.dnn", "embedding", "embedding("), ("model.dnn", "cross_entropy", "cross_entropy("),
                         ("model.dnn", "repeat", "count"), ("model.dnn", "batch", "samples"),
                         ("model.dnn", "precision", "precision"), ("modules.dnn", "gelu", "gelu("),
                         ("modules.dnn", "linear", "linear("), ("chip.accel", "clock", "frequency"),
                         ("chip.accel", "capacity", "memory"), ("chip.accel", "dataflow", "dataflow")):
    hover = at("hover", name, texts[name].words(word)[0] + 1)
    check(hover and said in hover["contents"]["value"], word, hover)
check(at("hover", "model.dnn", model.text.index("A model of")) is None)

# ---- Signatures: as `accord list operations` writes them
operations = {one["name"]: one["description"] for one in json.loads(accord("list", "operations", "--json").stdout)["entries"]
              if one["kind"] == "operation"}
scratch_uri = client.open(os.path.join(work, "scratch.dnn"), "")


def in_scratch(text, method="signatureHelp", **more):
    """The answer at '|'."""
    whole = Text(text.replace("|", ""))
    client.change(scratch_uri, {"text": whole.text})
    return client.ask("textDocument/" + method, {"textDocument": {"uri": scratch_uri},
                                                 "position": whole.place(text.index("|")), **more})


for name in ("linear", "gelu", "concat", "conv2d", "attention" if "attention" in operations else "add", "embedding", "softmax",
             "layer_norm", "cross_entropy", "batch_norm", "avg_pool"):
    answer = in_scratch(f"model m() {{\n  let 𝔹 = 1 // 𝔹\n  let a = {name}(|")
    label = answer["signatures"][0]["label"]
    check(label == operations[name], label, operations[name])
    check(answer["activeParameter"] == 0 and answer["activeSignature"] == 0, answer)
    shown = [label[begin:end] for begin, end in (one["label"] for one in answer["signatures"][0]["parameters"])]
    check(f"{name}({', '.join(shown)})" == label, shown)
check(in_scratch("model m() {\n  let a = linear(x, out = |")["activeParameter"] == 1)
check(in_scratch("model m() {\n  let a = linear(gelu(x), |")["activeParameter"] > 1, "attributes have names")
check(in_scratch("model m() {\n  let a = linear(gelu(|x), ")["signatures"][0]["label"] == operations["gelu"])
check(in_scratch("model m() {\n  let a = linear(x, out = [1, |")["activeParameter"] == 1)
check(in_scratch("module m(a, b = 2) -> y {\n  let y = a\n}\nmodel n() {\n  let c = m(x, b = |") is not None)
for nothing in ("model m() {\n  |", "model m() { let a = unknown(|", "// linear(|", 'import "linear(|', "|", "model m() {\n  let a = (|"):
    check(in_scratch(nothing) is None, nothing)

# ---- Completion: what must be among the proposals, and what must not
for text, wanted, unwanted in (
        ("mod|", {"module", "model"}, {"train"}), ("acc|", {"accelerator"}, {"module"}),
        ("model m() {\n  let a = gel|", {"gelu"}, {"linear"}), ("model m() {\n  rep|", {"repeat"}, {"loss"}),
        ("model m() {\n  let a = linear(x, |", {"out", "bias"}, {"kernel"}),
        ("model m() {\n  let first = 1\n  let b = fi|", {"first"}, {"gelu"}),
        ("accelerator a {\n  memory m : dr|", {"dram"}, {"sram", "tensor"}),
        ("accelerator a {\n  memory m : dram { cap|", {"capacity"}, {"bandwidth"}),
        ("accelerator a {\n  memory m : dram { capacity = 16 |", {"GiB", "MB"}, {"s", "W"}),
        ("accelerator a {\n  clo|", {"clock"}, {"core"}), ("accelerator a {\n  core c : te|", {"tensor"}, {"vector"}),
        ("train t = m() on a100|", {"a100_80g"}, {"h100"}), ("train t = m() on a100_80g {\n  opt|", {"optimizer"}, {"batch"}),
        ("train t = m() on a100_80g {\n  optimizer = ada|", {"adam", "adamw"}, {"sgd"}),
        ("train t = m() on a100_80g {\n  minimize |", {"step_time"}, {"throughput"}),
        ("train t = m() on a100_80g {\n  require thr|", {"throughput"}, {"step_time"}),
        ('import "catalog/gpt|', {"catalog/gpt2.dnn"}, {"catalog/a100.accel"}), ("jobs night on |", {"dgx_a100"}, set()),
        ("// mod|", set(), {"module"}), ("𝔹 mod|", set(), set())):
    answer = in_scratch(text, "completion")
    labels = {one["label"] for one in answer["items"]}
    check(wanted <= labels and not unwanted & labels, text, sorted(labels)[:40])
    written = re.search(r"[\w/]*$", text[:text.index("|")]).group()
    for item in answer["items"][:3]:
        check(item["label"].lower().startswith(written.lower()), text, item)
        check(item["textEdit"]["range"]["end"] == Text(text.replace("|", "")).place(text.index("|")), text, item)

# ---- The structure of a file
for name, one in texts.items():
    kinds = "accelerator|module|model|train|let"
    declared = [found.group(2) for found in re.finditer(rf"(?m)^({kinds}) (\w+)", one.text)]
    symbols = ask("documentSymbol", name)
    check([symbol["name"] for symbol in symbols] == declared, name, symbols)
    for symbol in symbols:
        check(one.slice(symbol["selectionRange"]) == symbol["name"], symbol)
        check(one.slice(symbol["range"]).startswith(symbol["detail"]), symbol)
        for part in symbol["children"]:
            check(one.slice(part["selectionRange"]) == part["name"], part)
    open_lines, folds = [], []
    for line, text in enumerate(one.text.split("\n")):
        for sign in re.sub(r'"[^"]*"|//.*', "", text):
            if sign in "{([":
                open_lines.append(line)
            elif sign in "})]" and line > open_lines[-1] + 1:
                folds.append((open_lines.pop(), line - 1))
            elif sign in "})]":
                open_lines.pop()
    check([(fold["startLine"], fold["endLine"]) for fold in ask("foldingRange", name)] == sorted(folds), name)
    lenses = ask("codeLens", name)
    check([lens["command"]["arguments"] for lens in lenses] ==
          [[uris[name], training] for training in re.findall(r"(?m)^train (\w+)", one.text)], lenses)
    # Parts around places: each holds the one before and the place, from a word to the whole file.
    places = [one.words(word)[-1] for word in declared]
    for place, answer in zip(places, ask("selectionRange", name, positions=[one.place(place) for place in places])):
        ranges = []
        while answer:
            ranges.append((one.offset(answer["range"]["start"]), one.offset(answer["range"]["end"])))
            answer = answer.get("parent")
        check(re.fullmatch(r"\w+", one.text[ranges[0][0]:ranges[0][1]]), ranges)
        check(ranges[-1] == (0, len(one.text)) and len(ranges) > 2, ranges)
        for inner, outer in zip(ranges, ranges[1:]):
            check(outer[0] <= inner[0] <= place <= inner[1] <= outer[1] and inner != outer, ranges)
where = model.text.index("4 * hidden")
answer = ask("selectionRange", "model.dnn", positions=[model.place(where)])[0]
parts = []
while answer:
    parts.append(model.slice(answer["range"]))
    answer = answer.get("parent")
for wanted in ("4", "4 * hidden", "x, 4 * hidden", "twice(x, 4 * hidden)", "x = twice(x, 4 * hidden)"):
    check(wanted in parts, wanted, parts)
for query, wanted in (("pair", {"pair"}), ("QUICK", {"quick"}), ("chip", {"my_chip"}), ("nothing_of_it", set()), ("sm", {"small"})):
    found = client.ask("workspace/symbol", {"query": query})
    check({one["name"] for one in found} == wanted, query, found)
    for one in found:
        check(texts[os.path.basename(one["location"]["uri"])].slice(one["location"]["range"]) == one["name"], one)

# ---- Colours
legend = capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]


def decoded(data):
    line = column = 0
    for i in range(0, len(data), 5):
        column = data[i + 1] + (column if data[i] == 0 else 0)
        line += data[i]
        yield line, column, data[i + 2], legend[data[i + 3]], data[i + 4]


for name, one in texts.items():
    full = ask("semanticTokens/full", name)
    tokens = list(decoded(full["data"]))
    words = [(one.slice({"start": {"line": line, "character": column}, "end": {"line": line, "character": column + length}}), kind)
             for line, column, length, kind, _ in tokens]
    check(all(word.strip() == word and word for word, _ in words), name, words)
    check({word for word, kind in words if kind == "comment"} == set(re.findall(r"//.*", one.text)), words)
    check({word for word, kind in words if kind == "string"} == set(re.findall(r'"[^"]*"', one.text)), words)
    check({"module", "model", "train", "import", "let", "accelerator"} & set(re.findall(r"\w+", re.sub("//.*", "", one.text))) <=
          {word for word, kind in words if kind == "keyword"}, name)
    for first in range(0, one.text.count("\n"), 3):
        window = {"start": {"line": first, "character": 0}, "end": {"line": first + 3, "character": 0}}
        part = list(decoded(ask("semanticTokens/range", name, range=window)["data"]))
        check(part == [token for token in tokens if first <= token[0] < first + 3], name, first)
    same = ask("semanticTokens/full/delta", name, previousResultId=full["resultId"])
    check(same["edits"] == [], same)
    check("data" in ask("semanticTokens/full/delta", name, previousResultId="unknown"))
data, result = None, None
steps = [modules.text.replace("let h", "let 𝔹h"), modules.text.replace("gelu", "relu"), modules.text + "// more\n", modules.text[:90],
         "", modules.text]
for step in steps:
    client.change(uris["modules.dnn"], {"text": step})
    if data is None:
        answer = ask("semanticTokens/full", "modules.dnn")
        data = answer["data"]
    else:
        answer = ask("semanticTokens/full/delta", "modules.dnn", previousResultId=result)
        for edit in answer["edits"]:
            data[edit["start"]:edit["start"] + edit["deleteCount"]] = edit["data"]
    result = answer["resultId"]
    client.change(scratch_uri, {"text": step})
    fresh = client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": scratch_uri}})["data"]
    check(data == fresh, step, len(data), len(fresh))

# ---- Layout, whole and in parts: as `accord fmt` writes it
ugly = Text(modules.text.replace("  let h = gelu", "let   h=gelu").replace("let a = pair(x, inner)", "let a=pair( x,inner )"))
ugly_path = write("ugly.dnn", ugly.text)
canonical_path = write("canonical.dnn", ugly.text)
check(accord("fmt", canonical_path).returncode == 0)
with open(canonical_path, encoding="utf-8") as file:
    canonical = file.read()
check(canonical == modules.text, canonical)
uris["ugly.dnn"], texts["ugly.dnn"] = client.open(ugly_path, ugly.text), ugly
check(ugly.applied(ask("formatting", "ugly.dnn", options={})) == canonical)
check(ugly.applied(ask("rangeFormatting", "ugly.dnn", options={}, range=ugly.range(0, len(ugly.text)))) == canonical)
first = ugly.text.index("module twice")
edits = ask("rangeFormatting", "ugly.dnn", options={}, range=ugly.range(0, first - 2))
check(ugly.applied(edits)[:canonical.index("module twice")] == canonical[:canonical.index("module twice")], edits)
check(ugly.applied(edits)[canonical.index("module twice"):] == ugly.text[first:], edits)
edits = ask("rangeFormatting", "ugly.dnn", options={}, range=ugly.range(first, len(ugly.text)))
check(ugly.applied(edits) == ugly.text[:first] + canonical[canonical.index("module twice"):], edits)
for name in ("chip.accel", "model.dnn"):
    path = write("copy-" + name, texts[name].text)
    check(accord("fmt", path).returncode == 0)
    with open(path, encoding="utf-8") as file:
        check(texts[name].applied(ask("formatting", name, options={})) == file.read(), name)

# ---- Numbers: the peak of the machine, and the parameters of the model
hints = {hint["label"]: hint["position"] for hint in ask("inlayHint", "chip.accel", range=machine.range(0, len(machine.text)))}
check("131.1 TFLOP/s bf16" in hints, hints)  # 4 arrays of 128 x 128, 2 FLOP each, at 1 GHz
check(ask("inlayHint", "chip.accel", range=machine.range(0, 5)) == [])
hints = ask("inlayHint", "model.dnn", range=model.range(0, len(model.text)))
# The embedding, two times two pairs (64 -> 256 -> 64 with biases), and the head.
parameters = 256 * 64 + 2 * 2 * (64 * 256 + 256 + 256 * 64 + 64) + 64 * 256 + 256
check(any(hint["label"] == f"{parameters / 1e3:.1f} k parameters" for hint in hints), parameters, hints)
check(sum(hint["label"].startswith("step ") for hint in hints) == 2, hints)

# ---- Broken files: the errors of `accord compile`, at its places, and what resolves them
compared = 0
for broken in ("train t = small() on nowhere { batch = 8 }\n", "model m( {\n", "let a = \n",
                     "}\n", "model m() { let größe = 1 }\n", 'import "nothing.dnn"\n', "let a = 1 +* 2\n",
                     "accelerator a { clock = 1 GB }\n", "unknown x { }\n", 'let t = "open\n',
                     "model w(n = 4) {\n  input t : int32[n]\n  loss gelu(t, 3)\n}\n", "train t = small( on my_chip { }\n",
                     "model 𝔹 { }\n", "sparsity for nothing { }\n", "let a = b\nlet b = a\n",
                     "{{{{\n", "let x = 1 / 0\n", "model m() { loss }\n"):
    whole = Text(model.text + "// 𝔹 𝔹\n" + broken)
    seen = client.received[uris["model.dnn"]]
    client.change(uris["model.dnn"], {"text": whole.text})
    found = client.wait_diagnostics(uris["model.dnn"], seen)
    check(found, broken)
    path = write("model.dnn", whole.text)
    told = json.loads(accord("compile", path, "--train", "quick", "--json", "--output", os.path.join(work, "out")).stdout)
    wanted = {(one["code"], one.get("line"), one["message"].split("\n")[0]) for one in told["diagnostics"]}
    shown = {(one["code"], one["range"]["start"]["line"] + 1, one["message"].split("\n")[0]) for one in found}
    check(wanted <= shown, broken, wanted, shown)
    compared += bool(wanted)
    for method in ("documentSymbol", "foldingRange", "semanticTokens/full", "codeLens", "formatting"):
        ask(method, "model.dnn", options={})
check(compared > 12, compared)
write("model.dnn", model.text)
seen = client.received[uris["model.dnn"]]
typo = Text(model.text.replace("maximize throughput", "maximise throughput").replace("precision", "percision"))
client.change(uris["model.dnn"], {"text": typo.text})
client.wait_diagnostics(uris["model.dnn"], seen)
whole = typo.range(0, len(typo.text))
actions = ask("codeAction", "model.dnn", range=whole, context={"diagnostics": []})
check("Change to 'precision'" in {one["title"] for one in actions}, actions)
for action in actions:
    for edit in action["edit"]["changes"][uris["model.dnn"]]:
        check(action["title"] == f"Change to '{edit['newText']}'", action)
check(ask("codeAction", "model.dnn", range=typo.range(0, 3), context={"diagnostics": []}) == [])
client.change(uris["model.dnn"], {"text": model.text})

# ---- What is none: methods, places, documents, and requests that are withdrawn
for method in ("textDocument/typeDefinition", "accord/nothing", "$/nothing", "", "textDocument/didOpen"):
    check(client.request(method)["error"]["code"] == -32601, method)
everywhere = ("completion", "hover", "definition", "references", "documentHighlight", "signatureHelp", "prepareRename")
for method in everywhere:
    for position in (None, [], {"line": "1", "character": 0}, {"line": -1, "character": 0}, {"line": 0}):
        reply = client.request("textDocument/" + method, {"textDocument": {"uri": uris["model.dnn"]}, "position": position})
        check(reply["error"]["code"] == -32602, method, position, reply)
    for position in ({"line": 10**6, "character": 10**6}, {"line": 0, "character": 10**6}):
        reply = client.request("textDocument/" + method, {"textDocument": {"uri": uris["model.dnn"]}, "position": position})
        check("result" in reply or reply["error"]["code"] == -32803, method, position, reply)
    reply = client.request("textDocument/" + method, {"textDocument": {"uri": uri_of("/nowhere.dnn")}, "position": {"line": 0, "character": 0}})
    check(reply["error"]["code"] == -32602, method, reply)
for method in ("rangeFormatting", "selectionRange", "semanticTokens/range", "codeAction"):
    check(client.request("textDocument/" + method, {"textDocument": {"uri": uris["model.dnn"]}})["error"]["code"] == -32602, method)
numbers = [client.start("textDocument/documentSymbol", {"textDocument": {"uri": uris["model.dnn"]}}) for _ in range(20)]
for number in numbers:
    client.notify("$/cancelRequest", {"id": number})
check(all("result" in one or one["error"]["code"] == -32800 for one in map(client.reply, numbers)))
client.notify("$/cancelRequest", {"id": "never"})
for uri in list(uris.values()) + [scratch_uri]:
    client.close(uri)
check(client.request("textDocument/hover", {"textDocument": {"uri": scratch_uri}, "position": {"line": 0, "character": 0}})["error"]["code"] == -32602)
client.ask("shutdown")
check(client.request("textDocument/hover", {})["error"]["code"] == -32600)
client.notify("exit")
check(client.process.wait(timeout=60) == 0)
total = sum(asked.values())
check(total >= 200, total)
print(f"{total} requests, {len(asked)} methods, done")
