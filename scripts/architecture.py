#!/usr/bin/env python3
"""Draws docs/architecture.svg: the subjects of the house, from the real includes and from test/house/Inputs/layers.txt.

usage: scripts/architecture.py [--check]

A subject stands one floor above the highest one that it includes. Arrows lead to the floor below; what a subject includes of deeper
floors stands in its box.

  --check      write nothing; fail if the picture is not what would be drawn
  --help       this text
"""
import html
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "house", "Inputs"))
import layers as house  # noqa: E402
from tree import Tree  # noqa: E402

PICTURE = os.path.join(ROOT, "docs", "architecture.svg")
WIDTH, MARGIN, GAP, FLOOR, LINE = 1100, 20, 40, 44, 15
BOTTOM = "base"  # everybody includes it: no arrows
HIDDEN = ("tests",)
COLOURS = {"base": "#eceff1", "dialects": "#e3f2fd", "passes": "#e3f2fd", "driver": "#fff3e0", "tools": "#fff3e0", "language": "#e8f5e9", "import": "#e8f5e9"}
OTHER = "#fafafa"


def facts():
    """Groups, the groups that each includes, and the roles (folders) of each."""
    with open(os.path.join(ROOT, "test/house/Inputs/layers.txt"), encoding="utf-8") as file:
        table = house.Layers(file.read())
    tree = Tree(ROOT)
    uses = {group: set() for group in table.groups if group not in HIDDEN}
    for include in house.includes_of(tree):
        here = os.path.dirname(include.file)
        if include.folder in table.rows and here in table.rows and table.allows(here, include.folder):
            group, other = table.rows[here].group, table.rows[include.folder].group
            if group != other and group in uses:
                uses[group].add(other)
    roles = {}
    for folder, row in table.rows.items():
        if any(path.startswith(folder + "/") for path in tree.sources):
            name = folder.removeprefix("lib/")
            roles.setdefault(row.group, []).append(name.removeprefix(row.group + "/") if "/" in name else name)
    groups = [g for g in uses if g in roles]
    return groups, {g: uses[g] & set(groups) for g in groups}, roles, table.groups


def floors_of(groups, uses):
    level = {}
    for group in groups:  # the table's order: what a group includes stands before it
        level[group] = 1 + max((level[other] for other in uses[group]), default=-1)
    floors = [[] for _ in range(max(level.values()) + 1)]
    for group in groups:
        floors[level[group]].append(group)
    return floors, level


def wrapped(words, width, between=" "):
    """Lines of at most `width` characters."""
    lines = []
    for word in words:
        if lines and len(lines[-1]) + len(between) + len(word) <= width:
            lines[-1] += between + word
        else:
            lines.append(word)
    return lines


class Box:
    def __init__(self, group, about, roles, deeper):
        self.group = group
        shown = [role for role in roles if role != group]
        columns = 44
        self.about = wrapped(about.split(), columns)
        self.roles = wrapped(shown, columns, " · ")
        self.also = wrapped(["also:"] + deeper, columns) if deeper else []
        widest = max(len(line) for line in [group + "    ", *self.about, *self.roles, *self.also])
        self.width = widest * 6.3 + 22
        self.height = 22 + LINE * (len(self.about) + len(self.roles) + len(self.also)) + 10
        self.x = self.y = 0.0

    def centre(self):
        return self.x + self.width / 2

    def svg(self):
        colour = COLOURS.get(self.group, OTHER)
        out = [
            f'<rect x="{self.x:.0f}" y="{self.y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" rx="6" fill="{colour}" stroke="#607d8b"/>',
            f'<text x="{self.x + 11:.0f}" y="{self.y + 20:.0f}" class="name">{html.escape(self.group)}</text>',
        ]
        y = self.y + 20
        for lines, kind in ((self.about, "about"), (self.roles, "roles"), (self.also, "also")):
            for line in lines:
                y += LINE
                out.append(f'<text x="{self.x + 11:.0f}" y="{y:.0f}" class="{kind}">{html.escape(line)}</text>')
        return out


def place(floors, boxes, below):
    """Order on each floor by where the boxes stand that it leads to, then places so that none overlap."""
    height = 0.0
    for floor in reversed(floors):
        height += max(boxes[g].height for g in floor) + FLOOR
    y = MARGIN + height - FLOOR + 24
    for number, floor in enumerate(floors):
        tallest = max(boxes[g].height for g in floor)
        y -= tallest
        wish = {g: sum(boxes[o].centre() for o in below[g]) / len(below[g]) if below[g] else WIDTH / 2 for g in floor}
        order = sorted(floor, key=lambda g: (wish[g], floor.index(g))) if number else floor
        # Each over what it leads to, then pushed to the right until none overlap, then to the left until all fit.
        left = MARGIN
        for group in order:
            box = boxes[group]
            box.x, box.y = max(left, wish[group] - box.width / 2), y + tallest - box.height
            left = box.x + box.width + GAP
        right = WIDTH - MARGIN
        for group in reversed(order):
            box = boxes[group]
            box.x = min(box.x, right - box.width)
            right = box.x - GAP
        y -= FLOOR
    return height + 2 * MARGIN + 10


def draw():
    groups, uses, roles, about = facts()
    floors, level = floors_of(groups, uses)
    below = {g: sorted(o for o in uses[g] if level[o] == level[g] - 1 and o != BOTTOM) for g in groups}
    deeper = {g: sorted(o for o in uses[g] if level[o] < level[g] - 1 and o != BOTTOM) for g in groups}
    boxes = {g: Box(g, about[g], roles[g], deeper[g]) for g in groups}
    height = place(floors, boxes, below)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif">',
        "<title>The subjects of Accord and what they include</title>",
        "<style>.name{font-size:15px;font-weight:bold}.about{font-size:12px}.roles{font-size:11.5px;fill:#37474f}.also{font-size:11.5px;fill:#546e7a;font-style:italic}"
        ".arrow{stroke:#78909c;stroke-width:1.3;fill:none}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#78909c"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
    ]
    for group in groups:
        for number, other in enumerate(below[group]):
            a, b = boxes[group], boxes[other]
            # Arrows of a box leave side by side, in the order of where they lead; likewise where they arrive.
            leaving = sorted(below[group], key=lambda o: boxes[o].centre())
            arriving = sorted((g for g in groups if other in below[g]), key=lambda g: boxes[g].centre())
            x1 = a.x + a.width * (leaving.index(other) + 1) / (len(leaving) + 1)
            x2 = b.x + b.width * (arriving.index(group) + 1) / (len(arriving) + 1)
            y1, y2 = a.y + a.height, b.y - 2
            bend = (y2 - y1) / 2
            out.append(f'<path class="arrow" d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}" marker-end="url(#head)"/>')
    for group in groups:
        out += boxes[group].svg()
    out.append(f'<text x="{MARGIN}" y="{height - 10:.0f}" class="also">An arrow: includes. Of deeper floors a box names what it includes; all include {BOTTOM}. Drawn by scripts/architecture.py.</text>')
    return "\n".join(out) + "\n</svg>\n"


def main(arguments):
    if "--help" in arguments:
        print(__doc__.strip())
        return 0
    picture = draw()
    if "--check" in arguments:
        with open(PICTURE, encoding="utf-8") as file:
            if file.read() == picture:
                return 0
        print("docs/architecture.svg is not what the includes say any more: run scripts/architecture.py")
        return 1
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture)
    return 0


sys.exit(main(sys.argv[1:]))
