"""mine_report.py ACCORD DIR: what mine.json says of front, choices and limits, against the designs of other spaces."""
import csv
import itertools
import json
import subprocess
import sys

accord, folder = sys.argv[1:]
with open(f"{folder}/mine.json", encoding="utf-8") as file:
    document = json.load(file)
with open(f"{folder}/chips.accel", encoding="utf-8") as file:
    space = file.read()
value = document["objective"]["value"]


def mined(text):
    with open(f"{folder}/other.accel", "w", encoding="utf-8") as file:
        file.write(text)
    out = subprocess.run([accord, "mine", f"{folder}/mlp.dnn", "--space", f"{folder}/other.accel:chips", "-o", f"{folder}/other", "--json"],
                         capture_output=True, text=True, check=False)
    assert out.returncode in (0, 2), out.stderr
    found = json.loads(out.stdout)
    assert out.returncode == 2 or found["search"]["is_optimal"]
    return found["objective"]["value"]


# The best with one choice is the best of a space that leaves nothing else for it.
choices = {"glb.capacity": "{1 MiB, 4 MiB}", "tc.count": "[pow2 1..8]", "tc.array.rows": "(pow2 16..128) x", "tc.array.cols": "x (pow2 16..128)"}
compared = 0
for parameter in document["sensitivity"]:
    written = choices[parameter["parameter"]]
    for choice in parameter["choices"]:
        if choice.get("chosen"):
            assert choice["value"] == value
            continue
        assert choice["value"] is None or choice["value"] >= value
        assert (choice["value"] is None) == ("reason" in choice), choice
        assert choice["best"] is None or choice["value"] is None or choice["best"] <= choice["value"]
        only = {"{": "{c}", "[": "[{c}]", "(": "{c} x", "x": "x {c}"}[written[0]].format(c=choice["choice"])
        least = mined(space.replace(written, only, 1))
        if choice["is_optimal"]:
            assert choice["best"] is None and least is None or abs(choice["best"] / least - 1) < 1e-12, (choice, least)
            compared += 1
        else:
            assert choice["bound"] <= least <= choice["best"], (choice, least)
assert compared > 5, compared
(limit,) = document["requirements"]
assert abs(limit["utilization"] - document["design"]["area_mm2"] / 16) < 1e-12
relaxed = limit["relaxed"]
larger = mined(space.replace("16 mm2", "17.6 mm2"))
assert relaxed["bound"] <= larger * (1 + 1e-12) and larger <= relaxed["value"] * (1 + 1e-12), (relaxed, larger)

# Of the whole front: what no design of a smaller budget, of area or power, beats.
front = document["pareto_front"]
assert front["epsilon"] == 0 and front["designs"][0]["value"] == value
for a, b in itertools.permutations(front["designs"], 2):
    assert any(a[key] > b[key] for key in ("value", "area_mm2", "tdp_W")), (a, b)
for design in front["designs"][:: max(1, len(front["designs"]) // 6)]:
    budget = f"  require area <= {design['area_mm2'] * (1 + 1e-9)} mm2\n  require power.tdp <= {design['tdp_W'] * (1 + 1e-9)} W\n"
    least = mined(space.replace("  require budget", budget + "  require budget"))
    assert abs(design["value"] / least - 1) < 1e-12, (design, least)
with open(f"{folder}/out/front.csv", encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
assert len(rows) == len(front["designs"])
for row, design in zip(rows, front["designs"]):
    assert float(row["value"]) == design["value"] and row["tc.count"] == design["chosen"]["tc.count"]
    assert float(row["throughput small"]) == design["steps"][0]["throughput"]
    with open(f"{folder}/out/front/{row['design']}.accel", encoding="utf-8") as file:
        assert "accelerator chips" in file.read()
for job in document["limits"]:
    assert abs(sum(share["fraction"] for share in job["fractions"]) - 1) < 1e-9
assert document["reference"]["steps"][0]["throughput"] > 0
print("front, choices and limits hold")
