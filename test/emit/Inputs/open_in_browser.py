"""open_in_browser.py CHROMIUM PAGE...: opens each page headless, fails on any console message, prints what it shows."""
import html
import os
import re
import sys

from browser import dom_of


def open_page(chromium, page):
    dom = dom_of(chromium, page, os.path.basename(page))
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    body = re.search(r'<table id="top">.*?<tbody>(.*?)</tbody>', dom, re.S)[1]
    drawn = len(re.findall(r"<canvas[^>]* height=", dom))
    print(f"{body.count('<tr>')} operations, {drawn} canvases drawn")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
