"""open_ensemble.py CHROMIUM PAGE...: opens pages of ensembles headless, fails on any console message, counts what they show."""
import html
import os
import re
import sys

from browser import dom_of


def open_page(chromium, page):
    dom = dom_of(chromium, page, os.path.basename(os.path.dirname(page)))
    main = dom.split('<script type="application/json"')[0]
    assert main.count("<script") == 0, "a name became markup"
    assert "undefined" not in main and "NaN" not in main, "a number or name is missing"

    def rows(table):
        body = re.search(rf'<table id="{table}">(.*?)</table>', dom, re.S)[1].partition("<tbody>")[2]
        return body.count("<tr>")

    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('sizes-table')} sizes, {len(re.findall('<div class=.kind', dom))} devices, {rows('bounds-table')} bounds, "
          f"{rows('losses-table')} losses, {rows('members-table')} ways")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
