"""A scripted session with accord-lsp: what an editor sends while somebody works, and what it must get.

usage: session.py SOURCE
"""
import os
import sys

from lsp import Client, place_of, uri_of

source = sys.argv[1]
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

unknown = client.request("accord/nothing")
check(unknown["error"]["code"] == -32601, unknown)
check(client.shutdown() == 0)
print("done")
