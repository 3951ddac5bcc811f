"""forge.py FOLDER FILE CHANGE: changes a document of an answer (`d`) and puts its new hash into the manifest."""
import hashlib
import json
import os
import sys

folder, name, change = sys.argv[1:]
path = os.path.join(folder, name)
with open(path, encoding="utf-8") as file:
    document = json.load(file)
exec(change, {"d": document})
text = (json.dumps(document, indent=2) + "\n").encode()
with open(path, "wb") as file:
    file.write(text)
path = os.path.join(folder, "manifest.json")
with open(path, encoding="utf-8") as file:
    manifest = json.load(file)
entry = next(entry for entry in manifest["files"] if entry["name"] == name)
entry["bytes"], entry["sha256"] = len(text), hashlib.sha256(text).hexdigest()
with open(path, "w", encoding="utf-8") as file:
    json.dump(manifest, file)
