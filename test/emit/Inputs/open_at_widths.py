"""open_at_widths.py CHROMIUM PAGE...: opens pages on a telephone, a tablet and a wide screen, light and dark.

Fails on a console message, where a page is wider than its screen, and where a tile, heading or button is cut."""
import sys

from browser import Browser

wrong = []
with Browser(sys.argv[1]) as browser:
    for page in sys.argv[2:]:
        for width in (390, 1024, 1920):
            for dark in (False, True):
                browser.size(width, dark=dark)
                browser.open(page)
                wrong += [f"{page} at {width}: {what}" for what in browser.cut() + browser.messages]
                browser.messages.clear()
print("\n".join(wrong) or f"{len(sys.argv) - 2} pages fit")
sys.exit(bool(wrong))
