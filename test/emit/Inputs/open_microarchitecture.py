"""open_microarchitecture.py CHROMIUM PAGE...: opens pages of cores headless, fails on any console message, counts what they show."""
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
    assert "parsererror" not in main, "the diagram is no XML"

    def rows(section):
        body = re.search(rf'<h2 id="{section}">.*?</table>', main, re.S)
        return body[0].partition("<tbody>")[2].count("<tr>") if body else 0

    diagrams = re.findall(r'<svg[^>]*class="accord-diagram".*?</svg>', main, re.S)
    blocks = sum(len(re.findall(r'<rect class="(?:box|inner)', diagram)) for diagram in diagrams)
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{len(diagrams)} diagram with {blocks} blocks, {rows('waits-0')} waits, {rows('units-0')} units, "
          f"{rows('memories-0')} memories, {rows('recurrences-h')} loops")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
