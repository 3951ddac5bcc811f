"""unpack.py WHEEL... PACKAGE FOLDER: the package of the tree with the native parts of a wheel beside it."""
import os
import shutil
import sys
import zipfile

*wheels, package, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(package, os.path.join(folder, "accord"), ignore=shutil.ignore_patterns("__pycache__"))
with zipfile.ZipFile(sorted(wheels)[-1]) as wheel:
    for info in wheel.infolist():
        if not info.filename.endswith(".py"):
            path = wheel.extract(info, folder)
            if info.external_attr >> 16:
                os.chmod(path, info.external_attr >> 16)
sys.path.insert(0, folder)
from accord import engine  # noqa: E402

print(engine.native())
