"""What is in the folder of an answer, held against its manifest."""
import hashlib
import json
import os


def content(folder="out"):
    """(hash of the manifest, hashes of the other files by name): the files are what the manifest lists, and nothing else."""
    files = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        listed = {entry["name"]: entry["sha256"] for entry in json.load(file)["files"]}
    own = files.pop("manifest.json")
    assert files == listed, (sorted(files), sorted(listed))
    return own, files
