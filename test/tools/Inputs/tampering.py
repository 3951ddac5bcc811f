"""Changes of what `accord mine` left behind, each of which `accord verify` has to refuse."""
import json
import os
import shutil
import subprocess
import sys

accord, folder, scratch = sys.argv[1:]
CERTIFICATE, SPACE, MINED = "certificate/mining.json", "certificate/space.mlir", "mine.json"


def verify(path):
    return subprocess.run([accord, "verify", "--no-manifest", path], capture_output=True, text=True, timeout=60)


def tampered(name, said, change):
    """`change` works on a copy of the folder; what `verify` then says holds all of `said`."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(folder, scratch)
    change(scratch)
    run = verify(scratch)
    assert run.returncode == 1, (name, run.returncode, run.stdout, run.stderr)
    for words in said:
        assert words in run.stderr, (name, words, run.stderr)
    tampered.count += 1


tampered.count = 0


def edit(file, change):
    def apply(root):
        path = os.path.join(root, file)
        with open(path) as f:
            document = json.load(f)
        change(document)
        with open(path, "w") as f:
            json.dump(document, f)

    return apply


def both(*changes):
    return lambda root: [change(root) for change in changes]


def text(file, old, new):
    def apply(root):
        path = os.path.join(root, file)
        with open(path) as f:
            was = f.read()
        assert old in was, (file, old)
        with open(path, "w") as f:
            f.write(was.replace(old, new))

    return apply


def put(file, content):
    def apply(root):
        with open(os.path.join(root, file), "wb") as f:
            f.write(content)

    return apply
