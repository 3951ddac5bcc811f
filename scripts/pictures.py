#!/usr/bin/env python3
"""Takes the pictures of docs/tutorials anew: scripts/pictures.py [PAGE.md...]

Does what each tutorial says in a folder of its own, with the Accord of build/, and shows the report of the last command before a
picture to a headless Chromium, in its light colours. A picture ends where a card of the page ends."""

import os
import re
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [os.path.join(ROOT, "test", "docs", "Inputs"), os.path.join(ROOT, "test", "emit", "Inputs")]
import pathlib  # noqa: E402

import browser  # noqa: E402
import tutorial  # noqa: E402

WIDTH, HEIGHT = 1280, 1000
CARDS = """Math.max(400, ...[...document.querySelectorAll("section, .card, .tiles")].map(e => e.getBoundingClientRect().bottom + 14)
  .filter(y => y <= %d))""" % HEIGHT


def take(chromium, page, file):
    with browser.Browser(chromium) as tab:
        tab.ask("Emulation.setScrollbarsHidden", hidden=True)
        tab.size(WIDTH, HEIGHT)
        tab.open(page)
        tab.size(WIDTH, round(tab.run(CARDS)))
        tab.open(page)
        tab.picture(file, whole=False)
        if tab.messages:
            sys.exit(f"{page}: {tab.messages}")
    print(f"{os.path.relpath(file, ROOT)}: {os.path.getsize(file)} bytes")


def pictures(page, chromium):
    """Does what a page says; its pictures lie beside it afterwards."""
    folder = ""
    for kind, text, content in tutorial.parts(page):
        if kind == "file":
            pathlib.Path(text).write_text(content, encoding="utf-8")
        elif kind == "command":
            tutorial.do(text)
            folder = re.search(r" -o (\S+)", text)[1] if " -o " in text else folder
        else:
            take(chromium, os.path.join(folder, "report.html"), page.parent / text)


def main():
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("error: there is no chromium")
    program = os.path.join(ROOT, "build", "bin")
    os.environ["PATH"] = program + os.pathsep + os.environ["PATH"]
    for page in sys.argv[1:] or sorted(pathlib.Path(ROOT, "docs", "tutorials").glob("*.md")):
        page = pathlib.Path(page).resolve()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            pictures(page, chromium)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
