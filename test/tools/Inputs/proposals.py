"""Every design that mine.json proposes above 1 W/mm2 is warned of: proposals.py mine.json"""
import json
import sys

plan = json.load(open(sys.argv[1]))
said = " ".join(plan["assumptions"])
above = 0


def visit(node):
    global above
    if isinstance(node, dict):
        area, power = node.get("area_mm2"), node.get("tdp_W")
        if isinstance(area, (int, float)) and isinstance(power, (int, float)) and area > 0 and power / area > 1.0001:
            above += 1
            assert "A1401" in said and f"{power:.4g} W on {area:.4g} mm2" in said, (power, area, said)
        for value in node.values():
            visit(value)
    elif isinstance(node, list):
        for value in node:
            visit(value)


for part in ("design", "compared", "pareto_front"):
    visit(plan[part])
assert above > 0, list(plan)
