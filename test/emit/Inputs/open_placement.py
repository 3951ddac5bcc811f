"""open_placement.py CHROMIUM PAGE...: opens pages of placements headless, fails on any console message, counts what they show."""
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
        body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', dom, re.S)
        return body[1].count("<tr>") if body else 0

    servers = len(re.findall(r'<div class="server"', dom))
    drawn = len(re.findall(r"<canvas[^>]* height=", dom))
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('stages')} stages, {max(0, rows('runners-table') - 1)} runners-up, {servers} servers, {drawn} canvas drawn")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
