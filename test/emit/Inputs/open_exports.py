"""open_exports.py CHROMIUM PAGE...: every chart of pages, drawn as SVG, on a canvas or as bars, is offered as a table and a picture.

The table has a row for each mark that is drawn, and the picture is there when it is asked for."""
import os
import sys

from browser import Browser

CHECK = """(async () => {
  const wrong = [], bars = [...document.querySelectorAll(".exports")], seen = e => e.getBoundingClientRect().width > 0;
  for (const chart of document.querySelectorAll("main svg, main canvas, main .stack, main .of, main .track"))
    if (seen(chart) && !chart.parentElement.closest("svg") && !bars.some(b => b.chart.host === chart || b.chart.host.contains(chart)))
      wrong.push(`no export: ${chart.tagName} ${chart.getAttribute("aria-label") || chart.id || chart.className}`);
  let rows = 0, shown = 0;
  for (const bar of bars.filter(seen)) {
    const [csv, png] = bar.querySelectorAll("button"), name = csv.getAttribute("aria-label"), table = bar.chart.rows(), marks = bar.chart.count();
    ++shown;
    rows += table.length - 1;
    if (table.length - 1 !== marks) wrong.push(`${name}: ${table.length - 1} rows, ${marks} marks`);
    if (table.some(row => row.length !== table[0].length)) wrong.push(`${name}: rows of several lengths`);
    if (!png) { if (!bar.chart.host.matches("table")) wrong.push(`${name}: no picture`); continue; }
    const got = await new Promise(done => { window.download = (file, blob) => done([file, blob.size]); png.click(); setTimeout(() => done(["nothing", 0]), 5000); });
    if (got[1] < 300) wrong.push(`${name}: the picture ${got[0]} has ${got[1]} bytes`);
  }
  return { wrong, rows, shown };
})()"""

failed = False
with Browser(sys.argv[1]) as browser:
    browser.size(1280)
    for page in sys.argv[2:]:
        browser.open(page)
        found = browser.run(CHECK)
        print(f"{os.path.basename(os.path.dirname(page))}: {found['shown']} charts, {found['rows']} rows")
        for what in found["wrong"] + browser.messages:
            print(f"  {what}")
            failed = True
        browser.messages.clear()
sys.exit(failed)
