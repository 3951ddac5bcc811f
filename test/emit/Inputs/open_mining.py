"""open_mining.py CHROMIUM PAGE...: opens pages of mined designs headless, fails on any console message, counts what they show."""
import html
import os
import re
import sys

from browser import dom_of


def open_page(chromium, page):
    dom = dom_of(chromium, page, os.path.basename(os.path.dirname(page)))

    def rows(table):
        body = re.search(rf'<table id="{table}">(.*?)</table>', dom, re.S)[1].partition("<tbody>")[2]
        return body.count("<tr>")

    def count(pattern):
        return len(re.findall(pattern, dom))

    main = dom.split('<script type="application/json"')[0]
    assert "<img" not in main and "<svg onload" not in main and main.count("<script") == 0, "a name became markup"
    assert "undefined" not in main and "NaN" not in main, "a number or name is missing"
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    print(f"{rows('jobs-table')} jobs, {count('<circle class=.(?:design|winner)')} of the front and {count('class=.reference')} to compare, "
          f"{count('<div class=.kind')} limits, {rows('requirements-table')} requirements, {count('<div class=.parameter.>')} parameters of {count('<div class=.track')} choices, "
          f"{count('<path class=.(?:incumbent|bound)')} curves, {rows('own-table')} alone, {count('<polyline class=.design-line(?! over)')} lines over "
          f"{count('class=.handle')} axes, {count('<line class=.limit')} budgets drawn")
    for headroom in re.findall(r"<li>(.*?)</li>", re.search(r'<ul id="front-limits".*?>(.*?)</ul>', main, re.S)[1]):
        print("budget:", html.unescape(headroom))
    for delay in re.findall(r"<li>(.*?)</li>", re.search(r'<ul id="limits-delays".*?>(.*?)</ul>', main, re.S)[1]):
        print("delay:", delay)


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
