"""A short session with accord-mlir-lsp: it knows the dialects of Accord, and tells what is wrong in a module."""
import os
import sys

from lsp import Client, place_of

path = os.path.join(sys.argv[1], "module.mlir")
text = """dnn.model @m {
  %x = dnn.input {name = "x"} : tensor<?x8xf32>
  %y = dnn.relu %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %p = dnn.parameter "w" : tensor<8x8xf32>
}
"""
client = Client(["accord-mlir-lsp"])
assert client.initialize()["capabilities"]["hoverProvider"]
uri = client.open(path, text)
found = client.wait_diagnostics(uri, 0)
assert all("unregistered" not in one["message"] and "does not exist" not in one["message"] for one in found), found
client.change(uri, {"text": "dnn.nothing @m {\n}\n"})
found = client.wait_diagnostics(uri, 1)
assert any("dnn" in one["message"] for one in found), found
assert client.shutdown() == 0
print("done")
