"""A scripted session with accord-lsp: what an editor sends while somebody works, and what it must get.

usage: session.py SOURCE WORK
"""
import os
import sys

from lsp import Client, place_of

source, work = sys.argv[1], os.path.realpath(sys.argv[2])
os.makedirs(work, exist_ok=True)
example = os.path.join(source, "examples/01-first-plan/gpt2_xl.dnn")
with open(example, encoding="utf-8") as file:
    text = file.read()


def labels(answer):
    return [item["label"] for item in answer["items"]]


def check(condition, *what):
    assert condition, what


client = Client(["accord-lsp"])
early = client.request("textDocument/hover", {})
check(early["error"]["code"] == -32002, early)
capabilities = client.initialize()["capabilities"]
check(capabilities["hoverProvider"] and capabilities["completionProvider"], capabilities)

# ---- Diagnostics: of the text in the editor, with other places and what may have been meant
uri = client.open(example)
check(client.wait_diagnostics(uri, 0) == [], client.diagnostics)
client.change(uri, {"text": text.replace("batch  ", "bach  ")})
found = client.wait_diagnostics(uri, 1)
check([one["code"] for one in found] == ["A0101"], found)
check(found[0]["data"]["suggestion"] == "batch" and found[0]["severity"] == 1, found)
check(found[0]["range"] == {"start": {"line": 5, "character": 2}, "end": {"line": 5, "character": 6}}, found)
client.change(uri, {"text": text + "train first_plan = gpt2_xl() on a100_80g { batch = 1 }\n"})
found = client.wait_diagnostics(uri, 2)
note = found[0]["relatedInformation"][0]
check(note["location"]["uri"] == uri and note["location"]["range"]["start"]["line"] == 4, found)
client.change(uri, {"text": text})
check(client.wait_diagnostics(uri, 3) == [], client.diagnostics)

# ---- Explanations
def hover(needle, offset=0, occurrence=0):
    answer = client.at("hover", uri, *place_of(text, needle, offset, occurrence))
    return answer["contents"]["value"] if answer else ""


check("model gpt2_xl(seq = 1024" in hover("gpt2_xl()", 2))
check("accelerator a100_80g" in hover("on a100_80g", 5))
check("samples of a step" in hover("batch", 1))
check("micro-batch size" in hover("microbatch", 1))
check("declares" in hover("catalog/gpt2", 3))

# ---- Completion
def complete(needle, offset=0, occurrence=0, of=text):
    return labels(client.at("completion", uri, *place_of(of, needle, offset, occurrence)))


check("a100_80g" in complete("on a100_80g", 3) and "dgx_a100" in complete("on a100_80g", 3))
check({"require", "batch", "optimizer"} <= set(complete("precision", 0)))
check("adamw" in complete("= adam", 2))
check("step_time" in complete("throughput", 0) or "throughput" in complete("throughput", 0))
check("hbm.capacity" in complete("hbm.capacity", 0))
check("catalog/gpt2.dnn" in complete("catalog/gpt2", 3))

# ---- A machine and a model: structure, names, numbers
own = os.path.join(source, "examples/03-own-model/tiny_lm.dnn")
with open(own, encoding="utf-8") as file:
    model = file.read()
model_uri = client.open(own)
check(client.wait_diagnostics(model_uri, 0) == [], client.diagnostics)
document = {"textDocument": {"uri": model_uri}}
symbols = client.ask("textDocument/documentSymbol", document)
check([one["name"] for one in symbols] == ["mlp", "layer", "tiny_lm", "tiny", "wide"], symbols)
check({"startLine": 4, "endLine": 6} in client.ask("textDocument/foldingRange", document))
lenses = client.ask("textDocument/codeLens", document)
check([one["command"]["arguments"][1] for one in lenses] == ["tiny", "wide"], lenses)
hints = {one["label"]: one["position"] for one in client.ask("textDocument/inlayHint", document)}
check(any(label.startswith("step ") for label in hints), hints)
# 8192 x 512 + 256 x 512 of the embeddings, 12 x 512^2 + 13 x 512 of each of 6 layers, 2 x 512 of the last
# normalization, and the head
parameters = 8192 * 512 + 256 * 512 + 6 * (12 * 512 * 512 + 13 * 512) + 2 * 512 + 512 * 8192
check(f"{parameters / 1e6:.2f} M parameters" in hints, parameters, hints)

tokens = client.ask("textDocument/semanticTokens/full", document)["data"]
legend = capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
lines, line, column, kinds = model.split("\n"), 0, 0, {}
for i in range(0, len(tokens), 5):
    line, column = line + tokens[i], tokens[i + 1] + (column if tokens[i] == 0 else 0)
    word = lines[line][column:column + tokens[i + 2]]
    kinds.setdefault(word, legend[tokens[i + 3]])
expected = {"import": "keyword", "module": "keyword", "mlp": "function", "gelu": "method", "out": "property",
            "inner": "parameter", "int32": "enumMember", "block": "namespace", "tpu_like": "type", "128": "number",
            '"catalog/tpu.accel"': "string", "let": "keyword", "precision": "property", "loss": "keyword"}
check({word: kinds.get(word) for word in expected} == expected, {word: kinds.get(word) for word in expected})

place = client.at("definition", model_uri, *place_of(model, "mlp(layer_norm", 1))
check(place["uri"] == model_uri and place["range"]["start"] == {"line": 4, "character": 7}, place)
place = client.at("definition", model_uri, *place_of(model, "attention(", 1))
check(place["uri"].endswith("/transformer.dnn") and place["range"]["start"]["line"] > 0, place)
place = client.at("definition", model_uri, *place_of(model, "layers = 12", 1))
check(place["range"]["start"]["line"] == 16, place)
place = client.at("definition", model_uri, *place_of(model, "hbm.capacity", 1))
check(place["uri"].endswith("/tpu.accel"), place)
uses = client.at("references", model_uri, *place_of(model, "tiny_lm()", 1), context={"includeDeclaration": True})
check([one["range"]["start"]["line"] for one in uses] == [16, 26, 36], uses)
check(len(client.at("documentHighlight", model_uri, *place_of(model, "hidden)", 1))) == 2)


def renamed(place, name):
    return client.request("textDocument/rename", {"textDocument": {"uri": model_uri}, "newName": name,
                                                  "position": {"line": place[0], "character": place[1]}})


edits = renamed(place_of(model, "tiny_lm()", 1), "small_lm")["result"]["changes"][model_uri]
check(len(edits) == 3 and all(one["newText"] == "small_lm" for one in edits), edits)
check(renamed(place_of(model, "attention("), "attend")["error"]["code"] == -32803)
check("no name" in renamed(place_of(model, "tiny_lm()"), "2b")["error"]["message"])
check("already" in renamed(place_of(model, "tiny_lm()"), "mlp")["error"]["message"])
check(client.at("prepareRename", model_uri, *place_of(model, "tiny_lm()"))["start"]["line"] == 26)

# A name of one file that another open one imports changes in both.
machine_path = os.path.join(work, "chip.accel")
with open(os.path.join(source, "examples/02-own-machine/my_chip.accel"), encoding="utf-8") as file:
    machine = file.read()
with open(machine_path, "w", encoding="utf-8") as file:
    file.write(machine)
user_path = os.path.join(work, "job.dnn")
user = 'import "chip.accel"\nimport "catalog/resnet.dnn"\ntrain r = resnet50() on my_chip { batch = 8 }\n'
user_uri = client.open(user_path, user)  # it is nowhere on the disk
check(client.wait_diagnostics(user_uri, 0) == [], client.diagnostics)
machine_uri = client.open(machine_path, machine)
changes = client.at("rename", machine_uri, *place_of(machine, "my_chip", 1), newName="our_chip")["changes"]
check(sorted(len(edits) for edits in changes.values()) == [1, 1] and set(changes) == {machine_uri, user_uri}, changes)
# What stands in the editor counts, not what is on the disk.
seen = client.received.get(user_uri, 0)
client.change(machine_uri, {"text": machine.replace("my_chip", "our_chip")})
found = client.wait_diagnostics(user_uri, seen)
check([one["code"] for one in found] == ["A0104"], found)
hints = [one["label"] for one in client.ask("textDocument/inlayHint", {"textDocument": {"uri": machine_uri}})]
check("131.1 TFLOP/s bf16" in hints, hints)  # 4 arrays of 128 x 128, 2 FLOP each, at 1 GHz
client.close(machine_uri)
client.close(user_uri)

# ---- What can be changed by itself
seen = client.received[uri]
client.change(uri, {"text": text.replace("batch  ", "bach  ")})
client.wait_diagnostics(uri, seen)
actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "context": {"diagnostics": []},
                                                "range": {"start": {"line": 5, "character": 3},
                                                          "end": {"line": 5, "character": 3}}})
check([one["title"] for one in actions] == ["Change to 'batch'"], actions)
check(actions[0]["edit"]["changes"][uri][0]["newText"] == "batch", actions)
client.change(uri, {"text": text.replace("  batch     = 32\n", "batch=32\n")})
edits = client.ask("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {}})
check(len(edits) == 1, edits)
client.change(uri, {"text": text.replace("batch", "}{")})
check(client.ask("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {}}) == [], "broken")

# ---- Planning, and what to relax where there is no plan
tight_path = os.path.join(work, "tight.dnn")
tight = ('import "catalog/tpu.accel"\nimport "catalog/alexnet.dnn"\ntrain tight = alexnet() on tpu_like {\n'
         "  batch = 8\n  require hurry: step_time <= 1 us\n}\n")
with open(tight_path, "w", encoding="utf-8") as file:
    file.write(tight)
tight_uri = client.open(tight_path, tight)
client.wait_diagnostics(tight_uri, 0)
seen = client.received[tight_uri]
command = {"command": "accord.plan", "arguments": [tight_uri, "tight"]}
answer = client.ask("workspace/executeCommand", command)
check(answer["status"] == "infeasible" and os.path.exists(answer["report"]), answer)
found = client.wait_diagnostics(tight_uri, seen - 1)
check(any("is not <= 1 us" in one["message"] and one["range"]["start"]["line"] == 4 for one in found), found)
actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": tight_uri}, "context": {"diagnostics": []},
                                                "range": {"start": {"line": 4, "character": 9},
                                                          "end": {"line": 4, "character": 9}}})
check(len(actions) == 1 and actions[0]["title"].startswith("Relax the limit to "), actions)
edit = actions[0]["edit"]["changes"][tight_uri][0]
with open(tight_path, "w", encoding="utf-8") as file:
    file.write(tight.replace("1 us", edit["newText"]))
client.change(tight_uri, {"range": edit["range"], "text": edit["newText"]})
check(client.ask("workspace/executeCommand", command)["status"] in ("optimal", "feasible"))
client.change(tight_uri, {"text": tight + " "})
check("save" in client.request("workspace/executeCommand", command)["error"]["message"])
for wrong in ({}, {"command": "rm"}, {"command": "accord.plan"}, {"command": "accord.plan", "arguments": [1, 2]}):
    check("error" in client.request("workspace/executeCommand", wrong), wrong)
client.close(tight_uri)

unknown = client.request("accord/nothing")
check(unknown["error"]["code"] == -32601, unknown)
check(client.shutdown() == 0)
print("done")
