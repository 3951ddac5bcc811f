"""open_difference.py CHROMIUM PAGE...: opens pages of two plans headless, fails on any console message, counts what they show."""
import html
import os
import re
import sys

from browser import dom_of


def rows(dom, table):
    body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', dom, re.S)
    return body[1].count("<tr>") if body else 0


for path in sys.argv[2:]:
    dom = dom_of(sys.argv[1], path, os.path.basename(path))
    title = html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1])
    causes = re.search(r'<ul id="causes">(.*?)</ul>', dom, re.S)[1].count("<li>")
    links = len(re.findall(r'<a href="[^"]*report.html"', dom))
    print(f"{title}: {rows(dom, 'figures')} figures, {causes} causes, {rows(dom, 'stages-table')} stages, "
          f"{rows(dom, 'operations-table')} operations, {links} links")
