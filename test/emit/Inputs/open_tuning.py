"""open_tuning.py CHROMIUM PAGE...: opens pages of tunings and of simulated policies, and says what they show. Fails on a console message,
a number or name that is missing, and where what a page says of a tuning is not what its tune.json gives."""
import json
import os
import sys

from browser import Browser

SHOWN = """(() => {
  const all = q => [...document.querySelectorAll(q)].filter(e => e.checkVisibility()), text = e => e.textContent.trim().replace(/\\s+/g, " "), count = q => all(q).length;
  const main = document.querySelector("main"), wrong = [];
  if (/undefined|NaN|Infinity/.test(main.textContent) || /undefined|NaN/.test(main.innerHTML.replace(/<table[^]*?<\\/table>/g, ""))) wrong.push("a number or name is missing");
  for (const e of all("main svg")) if (!e.getAttribute("aria-label")) wrong.push("a chart without a name for readers of the screen");
  for (const e of all("main svg .interval")) if (e.tabIndex !== 0 || !e.getAttribute("aria-label")) wrong.push("an interval that the keyboard does not reach");
  return { wrong, lines: [`${text(document.querySelector("h1"))}: ${text(document.querySelector("#status"))}`, `  sections: ${all("main h2").map(text).join("; ")}`,
    `  ${count(".tile")} tiles, ${count("#progress .mean")} steps, ${count("path.band")} bands, ${count(".interval")} intervals, ${count(".learning")} curves, ${count("#devices-chart .run")} bars, ${count(".design-line:not(.over)")} lines over ${count(".handle")} axes, ${count("#population-chart .run")} members, ${count("#front-chart circle")} priced, ${count("#rejected-bars .stack")} limits`,
    ...all("main .hint, #importance-said, #prices-hint").map(text).filter(t => /drawn|known|explain|rejected|gain|reached|bootstrap|one simulation/i.test(t)).map(t => "  says: " + t)] };
})()"""
PRESS = """(() => { const by = document.querySelectorAll("#devices-colors button")[1]; if (by) by.click(); const rung = document.querySelector("#importance-rung"); if (rung && rung.length > 1) { rung.value = 1; rung.onchange(); } })()"""


def compare(browser, folder):
    """What a page has beside tune.json follows from it."""
    with open(os.path.join(folder, "tune.json"), encoding="utf-8") as file:
        document = json.load(file)
    page = browser.run("({progress: data.progress, counts: data.counts, rungs: data.rungs, best: data.best_configuration, trials: data.trials.map(t => t.number)})")
    times = [report["time_s"] for trial in document["trials"] for report in trial["reports"]]
    units = [sum(time <= one["time_s"] for time in times) for one in document["incumbents"]]
    assert [one["units"] for one in page["progress"]] == units, "units of the best values"
    assert page["counts"]["trials"] == len(document["trials"]) == sum(page["counts"]["states"].values())
    assert page["best"] == document["trials"][document["incumbents"][-1]["trial"]]["configuration"]
    assert document["incumbents"][-1]["trial"] in page["trials"] and page["rungs"][-1] == document["problem"]["max_units"]


failed = False
with Browser(sys.argv[1]) as browser:
    browser.size(1280)
    for path in sys.argv[2:]:
        browser.open(path)
        folder = os.path.dirname(path)
        shown = browser.run(SHOWN)
        print(os.path.basename(folder), "\n".join(shown["lines"]))
        if os.path.exists(os.path.join(folder, "tune.json")):
            compare(browser, folder)
        browser.run(PRESS)
        for what in shown["wrong"] + browser.messages:
            print(f"  {what}")
            failed = True
        browser.messages.clear()
print("failed" if failed else "no console message")
sys.exit(failed)
