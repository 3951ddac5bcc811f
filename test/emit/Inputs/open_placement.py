"""open_placement.py CHROMIUM PAGE...: opens pages of placements headless, fails on any console message, counts what they show."""
import html
import os
import re
import sys

from browser import dom_of


def open_page(chromium, page):
    dom = dom_of(chromium, page, os.path.basename(os.path.dirname(page)))

    def rows(table):
        body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', dom, re.S)
        return body[1].count("<tr>") if body else 0

    servers = len(re.findall(r'<div class="server"', dom))
    drawn = len(re.findall(r"<canvas[^>]* height=", dom))
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('stages')} stages, {max(0, rows('runners-table') - 1)} runners-up, {servers} servers, {drawn} canvas drawn")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
