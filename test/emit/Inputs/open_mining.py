"""open_mining.py CHROMIUM PAGE...: opens pages of mined designs headless, fails on any console message, counts what they show."""
import html
import os
import re
import subprocess
import sys
import tempfile


def open_page(chromium, page):
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=2000",
                 "--window-size=1280,1600", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0"]
        done = subprocess.run([chromium, *flags, "--dump-dom", "file://" + os.path.abspath(page)], check=True,
                              capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": profile})
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    for message in messages:
        print(message)
    if messages:
        sys.exit(1)
    print(f"{os.path.basename(os.path.dirname(page))}: no console message")
    dom = done.stdout

    def rows(table):
        body = re.search(rf'<table id="{table}">(.*?)</table>', dom, re.S)[1].partition("<tbody>")[2]
        return body.count("<tr>")

    def count(pattern):
        return len(re.findall(pattern, dom))

    main = dom.split('<script type="application/json"')[0]
    assert "<img" not in main and "<svg onload" not in main and main.count("<script") == 0, "a name became markup"
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('jobs-table')} jobs, {count('<circle class=.(?:design|winner)')} of the front and {count('class=.reference')} to compare, "
          f"{count('<div class=.kind')} limits, {rows('requirements-table')} requirements, {count('<div class=.parameter.>')} parameters of {count('<div class=.track')} choices, "
          f"{count('<path class=.(?:incumbent|bound)')} curves, {rows('own-table')} alone")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
