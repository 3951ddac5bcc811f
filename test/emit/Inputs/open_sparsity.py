"""open_sparsity.py CHROMIUM PAGE...: opens pages of chosen zeros headless, fails on any console message, counts what they show."""
import html
import os
import re
import sys

from browser import dom_of

for page in sys.argv[2:]:
    dom = dom_of(sys.argv[1], page, os.path.basename(os.path.dirname(page)))
    main = dom.split('<script type="application/json"')[0]
    assert main.count("<script") == 0, "a name became markup"
    assert "undefined" not in main and "NaN" not in main, "a number or name is missing"

    def rows(table):
        return re.search(rf'<table id="{table}">(.*?)</table>', dom, re.S)[1].partition("<tbody>")[2].count("<tr>")

    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('layers-table')} layers, {rows('options-table')} options of the first, {rows('accuracy-table')} lines of accuracy")
