"""The web page of the scheduler, as those use it who look at it: page.py CHROMIUM SOURCE FOLDER

With a fourth argument it also writes pictures of both sizes, light and dark, to the folder.
"""
import json
import os
import re
import signal
import sys
import time

from page_api import HOSTILE, Server, World
from page_browser import Browser

SECONDS = 150
ROWS = "document.querySelectorAll('#queue-rows > tr').length"
FULL = "known.isComplete && known.runs.length > 0 && reading.over.took > 0 && document.querySelectorAll('#queue-rows > tr').length > 0"
NARROW, WIDE = (360, 740), (1280, 900)


def sign_in(browser, server, world, token="root-token", until=FULL):
    browser.leave()  # a page that is still open would ask for what is not there any more
    server.world = world
    browser.open(server.address)
    browser.value("sessionStorage.clear(); location.hash = ''")
    browser.open(server.address)
    browser.wait("!byId('sign-in').hidden")
    browser.value(f"byId('token').value = '{token}'; byId('sign-in-form').requestSubmit()")
    if until:
        browser.wait(until)


def choose(browser, field, value):
    browser.value(f"{{ const e = byId('{field}'); e.value = '{value}'; e.dispatchEvent(new Event('input', {{ bubbles: true }})); }}")


def expect_refused(browser, status):
    """A browser notes on its console what is refused to a script; this was meant."""
    assert all(m.startswith("error: Failed to load resource") and f"{status}" in m for m in browser.messages), browser.messages
    browser.messages.clear()


def check_shapes(source, world):
    """What is played is what the schemas of the interface say."""
    sys.path.insert(0, os.path.join(source, "test/tools"))
    from check_schema import check
    errors = []
    for name, document in (("job_queue", {"jobs": [world.view(i) for i in world.jobs]}), ("cluster_view", world.cluster()), *(("service_event", e) for e in world.events)):
        with open(os.path.join(source, "docs/schema", name + ".schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        check(document, schema, schema, name, errors)
    assert not errors, errors
    print("the stand-in answers as the schemas say")


def check_files(source):
    """All files that the page asks for are in the program."""
    def text(path):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            return file.read()
    names = {"index.html", *re.findall(r'"/page/([^"]+)"', text("lib/service/page/index.html"))}
    listed = re.search(r"foreach\(file (index\.html [^)]*)\)", text("lib/CMakeLists.txt"))[1].split()
    assert names == set(listed) == set(re.findall(r'\{"([^"]+)", \{"text/', text("lib/service/http/ServicePage.cpp.in"))), names
    assert names >= set(os.listdir(os.path.join(source, "lib/service/page")))
    print(f"{len(names)} files are in the program")


def check_queue(browser, server):
    sign_in(browser, server, World(40), "no-token", until="byId('sign-in-error').textContent")
    print("a wrong token:", browser.value("byId('sign-in-error').textContent"))
    expect_refused(browser, 401)
    sign_in(browser, server, World(40))
    counts = [browser.value(ROWS)]
    for phase in ("", "failed"):
        choose(browser, "filter-phase", phase)
        counts.append(browser.value(ROWS))
    print(f"jobs: {counts[0]} open, {counts[1]} in all, {counts[2]} failed")
    choose(browser, "filter-phase", "")
    choose(browser, "filter-tenant", "vision")
    vision = browser.value(ROWS)
    choose(browser, "filter-tenant", "*")
    choose(browser, "filter-text", "whisper-7b-2 speech")
    named = browser.value(ROWS)
    choose(browser, "filter-text", "")
    choose(browser, "filter-phase", "running")
    print(f"filters: {vision} of vision, {named} named 'whisper-7b-2', {browser.value(ROWS)} running")
    choose(browser, "filter-phase", "open")
    browser.value("document.querySelector('[data-sort=left]').click()")
    order = browser.value("[...document.querySelectorAll('#queue-rows a')].map(a => known.jobs.get(Number(a.hash.slice(5))).time_left_s ?? Infinity).map(t => isFinite(t) ? t : 1e99)")
    assert order == sorted(order) and order[0] < 1e9 and browser.value("byId('by-left').getAttribute('aria-sort')") == "ascending"
    print("by time left: first those whose end is known, ascending")
    browser.value("document.querySelector('[data-sort=id]').click()")


def check_plan(browser):
    bars = browser.value("gantt.bars.map(b => [b.node.name, b.run.outcome, b.element.getAttribute('aria-label')])")
    assert all(f"outcome" in label and node in label for node, _, label in bars)
    marks = browser.value("[...document.querySelectorAll('#gantt .mark')].map(m => m.getAttribute('class').split(' ')[1])")
    print(f"plan: {len(bars)} bars on {len({b[0] for b in bars})} nodes, {sum(b[1] == 'planned' for b in bars)} planned, outcomes as shapes: {', '.join(sorted(set(marks)))}")
    browser.value("gantt.bars[0].element.focus()")
    assert not browser.value("byId('gantt-tip').hidden")
    for key in ("ArrowRight", "ArrowDown", "ArrowUp", "Home", "Enter"):
        browser.press(key)
    browser.wait("byId('job').open")
    job = browser.value("location.hash")
    browser.press("Escape")
    browser.wait("!byId('job').open && location.hash === ''")
    print(f"by keys: job {job.removeprefix('#job=')} from the bars, closed again")


def check_job(browser, world):
    browser.value("document.querySelector('#queue-rows a[href=\"#job=4\"]').click()")
    browser.wait("byId('job').open && document.querySelectorAll('#job-explain li').length > 0 && document.querySelectorAll('#job-chart path').length > 0")
    share, planned = browser.value("[known.jobs.get(4).share, plannedShare(known.jobs.get(4))]")
    assert share < planned, (share, planned)
    browser.wait("document.querySelectorAll('#job-runs li b').length === 1 && jobView.runs.length === 1")
    points = browser.value("document.querySelector('#job-chart path.done').getAttribute('d').split(' L').length")
    assert points == 12, points  # of its history, and now
    print(f"job 4: its progress from the start, {browser.value('byId(`job-runs`).textContent.trim().split(`,`)[0]')}")
    print(f"job 4: behind its plan; why: {browser.value('document.querySelectorAll(`#job-explain li`).length')} sentences")
    browser.value("byId('job-cancel').click()")
    browser.wait("byId('question').open")
    browser.value("byId('question-no').click()")
    browser.wait("!byId('question').open")
    assert not any(method == "DELETE" for method, _, _ in world.asked)
    browser.value("byId('job-cancel').click()")
    browser.wait("byId('question').open")
    browser.value("byId('question-form').requestSubmit()")
    browser.wait("byId('job-phase').textContent.includes('stopping')")
    assert [path for method, path, _ in world.asked if method == "DELETE"] == ["/v1/jobs/4"]
    print("cancelled job 4 after a question:", browser.value("byId('job-phase').textContent").split()[-1])
    browser.value("byId('job-close').click()")


def check_nodes(browser, world):
    button = "[...document.querySelectorAll('#node-list button')].find(b => b.getAttribute('aria-label').endsWith(' v100-2'))"
    browser.value(button + ".click()")
    browser.wait("byId('question').open")
    browser.value("byId('question-reason').value = 'a fan'; byId('question-form').requestSubmit()")
    browser.wait(button + ".textContent === 'Resume'")
    assert ("POST", "/v1/nodes/v100-2/drain", {"reason": "a fan"}) in world.asked
    assert "a fan" in browser.value(button + ".closest('li').textContent")
    browser.value(button + ".click()")
    browser.wait(button + ".textContent === 'Drain'")
    print("drained and resumed v100-2 with a reason")


def check_updates(browser, world):
    browser.wait("connection.streams")
    browser.value("document.querySelectorAll('#queue-rows > tr').forEach(row => { row.wasThere = true; }); document.querySelector('#queue-rows a').focus()")
    world.add(41)
    world.event("submitted", "job 41 was submitted", 41)
    browser.wait("document.querySelector('#queue-rows a[href=\"#job=41\"]') !== null")
    assert browser.value("[...document.querySelectorAll('#queue-rows > tr')].filter(row => !row.wasThere).length") == 1
    assert browser.value("document.activeElement === document.querySelector('#queue-rows a')")
    assert "job 41 was submitted" in browser.value("document.querySelector('#event-list li').textContent")
    print("a new job came without a reload, and the rows are the same elements")
    world.is_cut = True
    browser.wait("byId('connection').textContent.includes('cut off')")
    world.event("node", "node h100-2 was seen again")
    for i in range(300):
        world.event("refused", f"401 to GET /v1/jobs from 10.0.0.1, request a-{i}")
    world.is_cut = False
    browser.wait("byId('connection').textContent === '● live' && byId('event-list').textContent.includes('h100-2 was seen again') && byId('event-list').textContent.includes('· 300 times')")
    expect_refused(browser, 503)
    print("cut off and live again, with what was missed")
    browser.value("byId('sign-out').click()")
    assert browser.value("sessionStorage.length === 0 && byId('app').hidden && document.activeElement === byId('token')")
    print("signed out: no token is left")


def check_viewer(browser, server):
    world = World(40)
    sign_in(browser, server, world, "viewer-token")
    browser.value("location.hash = 'job=1'")
    browser.wait("byId('job').open")
    assert browser.value("byId('job-actions').hidden && [...document.querySelectorAll('#node-list button')].every(b => b.hidden)")
    print("a viewer: nothing to cancel or drain")


def check_open(browser, server):
    browser.value("sessionStorage.clear(); location.hash = ''")
    browser.leave()
    server.tokens[""] = "operator"
    server.world = World(40)
    browser.open(server.address)
    browser.wait(FULL)
    assert browser.value("byId('sign-out').hidden && byId('sign-in').hidden && connection.streams")
    browser.leave()
    del server.tokens[""]
    print("a scheduler that needs no token asks for none")


def check_hostile(browser, server, pictures):
    sign_in(browser, server, World(40, hostile=True, healthy=False))
    browser.value("location.hash = 'job=1'")
    browser.wait("byId('job').open && document.querySelectorAll('#job-explain li').length > 0")
    browser.value("gantt.bars.find(b => b.run.job === 2).element.dispatchEvent(new Event('focus'))")
    assert browser.value("document.title").startswith(HOSTILE[0])
    assert browser.value("document.querySelectorAll('img, iframe, object, embed, #app script, dialog script, [onerror], [onload]').length") == 0
    names = browser.value("[...document.querySelectorAll('#queue-rows a')].map(a => a.textContent)")
    tenants = browser.value("[...document.querySelectorAll('#filter-tenant option')].map(o => o.textContent).filter(t => t.includes('<') || t === 'vision').length")
    assert browser.value("!byId('trouble').hidden && byId('engine').textContent.includes('trouble')") and HOSTILE[1] in browser.value("byId('trouble').textContent")
    assert browser.value("document.querySelectorAll('a').length === document.querySelectorAll('a[href^=\"#\"]').length")
    print(f"hostile names: {sum(n in HOSTILE for n in names)} jobs, {tenants} tenants, an engine in trouble; nothing was executed")
    take(browser, pictures, "trouble")


def check_many(browser, server, pictures):
    sign_in(browser, server, World(10000), until="known.isComplete && known.jobs.size === 10000")
    browser.wait(f"{ROWS} === 50 && byId('queue-count').textContent.startsWith('9,99')")
    assert browser.value("document.getElementsByTagName('*').length") < 4000
    browser.value("byId('queue-pages').next.click()")
    assert browser.value("document.querySelector('#queue-rows a').hash") == "#job=59"
    choose(browser, "filter-text", "9876")
    found = browser.value(ROWS)
    choose(browser, "filter-text", "")
    browser.size(*NARROW)
    browser.wait(f"{ROWS} === 20")
    print(f"10,000 jobs: 50 rows in the document, {found} found by its name, 20 cards on a phone")
    browser.size(*WIDE)


def check_empty(browser, server):
    sign_in(browser, server, World(0), until="known.isComplete && byId('queue-empty').textContent === 'there are no jobs'")
    print("an empty cluster:", browser.value("byId('queue-empty').textContent"))


def check_sizes(browser, server, pictures):
    sign_in(browser, server, World(40, hostile=True))
    for width in (320, 360, 768, 1280, 1920):
        browser.size(width, 800)
        browser.wait(f"byId('gantt').firstChild.getAttribute('width') == byId('gantt').clientWidth")
        assert browser.value("document.documentElement.scrollWidth") <= width, width
        browser.value("location.hash = 'job=1'")
        browser.wait("byId('job').open && document.querySelectorAll('#job-explain li').length > 0")
        assert browser.value("byId('job').scrollWidth <= byId('job').clientWidth && byId('job').offsetWidth <= innerWidth"), width
        browser.value("byId('job').close()")
        browser.wait("location.hash === ''")
    print("fits: 320 360 768 1280 1920")
    browser.size(*WIDE, motion="reduce")
    assert browser.value("getComputedStyle(document.querySelector('.meter > i')).transitionDuration") == "0s"
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    nameless = [n for n in tree if not n["ignored"] and n["role"]["value"] != "RootWebArea" and not n.get("name", {}).get("value")
                and any(p["name"] == "focusable" and p["value"]["value"] for p in n.get("properties", []))]
    assert not nameless, nameless[:3]
    print("all that can be focused has a name")


def take(browser, pictures, name):
    if not pictures:
        return
    for size, of in ((WIDE, "wide"), (NARROW, "narrow")):
        for scheme in ("light", "dark"):
            browser.size(*size, scheme)
            time.sleep(0.5)
            browser.picture(os.path.join(pictures, f"{name}-{of}-{scheme}.png"))
    browser.size(*WIDE)


def late(*_):
    raise TimeoutError("the test takes too long")


def main(chromium, source, folder, *rest):
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    pictures = folder if rest else None
    world = World(40)
    server = Server([os.path.join(source, "lib/service/page"), os.path.join(source, "lib/report/page")], world)
    browser = None
    try:
        check_files(source)
        check_shapes(source, world)
        browser = Browser(chromium)
        browser.size(*WIDE)
        check_queue(browser, server)
        check_plan(browser)
        check_job(browser, server.world)
        check_nodes(browser, server.world)
        check_updates(browser, server.world)
        check_viewer(browser, server)
        check_open(browser, server)
        check_hostile(browser, server, pictures)
        check_many(browser, server, pictures)
        check_empty(browser, server)
        check_sizes(browser, server, pictures)
        for message in browser.messages + server.errors:
            print(message)
        print("no message on the console" if not browser.messages + server.errors else "there are messages on the console")
    finally:
        if browser:
            browser.close()
        server.close()


main(*sys.argv[1:])
