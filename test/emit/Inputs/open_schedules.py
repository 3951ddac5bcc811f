"""open_schedules.py CHROMIUM PAGE[#PLACE]...: opens pages of schedules, estimates and partitions, and says what they show: title,
status, tiles, bars (of them critical), rows of tables, what the link names, and links to pages beside. Fails on a console message."""
import os
import sys

from browser import Browser

SHOWN = """(() => {
  const text = e => (e ? e.textContent.trim().replace(/\\s+/g, " ") : ""), all = q => [...document.querySelectorAll(q)].filter(e => e.checkVisibility());
  const bars = all("#chart .run"), critical = bars.filter(e => e.getAttribute("fill") === "var(--critical)");
  return [`${text(document.querySelector("h1"))}: ${text(document.querySelector("#status"))}`,
    ...all(".tile").map(e => `  ${text(e.querySelector(".label"))}: ${text(e.querySelector(".value"))} (${text(e.querySelector(".note"))})`),
    `  ${bars.length} bars, ${critical.length} critical, ${all(".kind").length} other bars, ${all("tbody tr").length} rows, ${all(".exports button").length} exports`,
    ...all("#conflict-list li").map(e => `  why: ${text(e)}`), ...all("#pinned").map(e => `  shown: ${text(e)}`), ...all("nav.pages a").map(e => `  beside: ${text(e)} at ${e.getAttribute("href")}`)].join("\\n");
})()"""
# What stands under the pointer of a bar; a table of all cells, as the button gives it.
TIP = """(() => {
  const bar = document.querySelector("#chart .run");
  if (!bar) return "";
  bar.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 200 }));
  return document.querySelector("#tip b").textContent;
})()"""

wrong = []
with Browser(sys.argv[1]) as browser:
    browser.size(1024)
    for argument in sys.argv[2:]:
        page, _, place = argument.partition("#")
        browser.open(page, f"#{place}" if place else "")
        print(f"{os.path.basename(page)} {browser.run(SHOWN)}")
        tip = browser.run(TIP)
        if tip:
            print(f"  tip: {tip}")
        wrong += [f"{page}: {message}" for message in browser.messages]
        browser.messages.clear()
print("\n".join(wrong) or "no console message")
sys.exit(bool(wrong))
