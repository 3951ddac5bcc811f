"""open_in_browser.py CHROMIUM PAGE...: opens each page headless, fails on any console message, prints what it shows.

Where latency_model.py is beside a page, the page is opened at other sizes, and has to show what Python says of them."""
import html
import importlib.util
import os
import re
import sys

from browser import dom_of


def open_page(chromium, page):
    dom = dom_of(chromium, page, os.path.basename(page))
    print("title:", html.unescape(re.search(r'<h1 id="title">(.*?)</h1>', dom, re.S)[1]))
    body = re.search(r'<table id="top">.*?<tbody>(.*?)</tbody>', dom, re.S)[1]
    drawn = len(re.findall(r"<canvas[^>]* height=", dom))
    sliders = dom.count('type="range"')
    print(f"{body.count('<tr>')} operations, {drawn} canvases drawn, {sliders} sliders")


    folder = os.path.dirname(os.path.abspath(page))
    if "<input" in dom and os.path.exists(f"{folder}/latency_model.py"):
        spec = importlib.util.spec_from_file_location("latency_model", f"{folder}/latency_model.py")
        model = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(model)
        op = re.search(r'class="dot"[^>]*></i>([^<]+)', dom)[1]
        moved = dom_of(chromium, page, "moved", f"#op={op}&at=batch:96,microbatch:3")
        shown, said = float(re.search(r'data-step="([^"]+)"', moved)[1]), model.evaluate(batch=96, microbatch=3).step_time_s
        pinned = re.search(r'<div id="pinned".*?<b>(.*?)</b>', moved, re.S)[1]
        same = "the step of Python" if abs(shown - said) <= 1e-12 * said else f"{shown} for {said}"
        print(f"by a link: {same}, {'the operation' if pinned == op else pinned}")


for path in sys.argv[2:]:
    open_page(sys.argv[1], path)
