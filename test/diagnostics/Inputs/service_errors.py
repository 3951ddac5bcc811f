"""service_errors.py TEST-FOLDER FOLDER: what a scheduler process refuses, as its commands say it."""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "service", "Inputs"))
from served import Served  # noqa: E402

with Served("accord", sys.argv[2], ["--engine", "local", "--engine-option", "nodes=n1=a100:4"]) as served:
    print(served.run("run", "--name", "no name", "--samples", "1", "true", check=False).stderr)
    viewer = served.run("token", "eve", "--role", "viewer").stdout.strip()
    print(served.run("drain", "n1", "--token", viewer, check=False).stderr)
    print(served.run("cancel", "12345", check=False).stderr)
