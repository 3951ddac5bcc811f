"""What ERT.yaml, ART.yaml and weights.cacti say, in a plan of chip.accel, by hand."""
import json
import sys

machine = json.load(open(sys.argv[1]))["machine"]


def near(found, expected):
    assert abs(found / expected - 1) < 2e-2, (found, expected)


def number(origin):
    return float(origin["text"].split()[0])


by_name = {memory["name"]: memory for memory in machine["memories"]}
# Two banks as CACTI has one: 8 pJ for 8 B.
near(number(by_name["weights"]["origins"]["energy"]), 8 / 64)
# The largest of the read energies and that of writing, of 8 B.
near(number(by_name["glb"]["origins"]["energy"]), (6 + 10) / 2 / 64)
assert machine["origins"]["mac.bf16"]["text"] == "0.5 pJ by a table of components"
assert "catalog/components" in machine["origins"]["mac.fp32"]["text"]

# fp32 multiplier, adder and 5 * 32 + 32 bits of register at 45 nm, 6.4 times (components.csv): no table has the lanes.
lanes = 16 * (7700 + 4184 + 192 * 4.522) * 6.4e-6
area = 256 * 400e-6 + 90000e-6 + 2 * 0.25 * 0.2 + lanes
near(number(machine["origins"]["area"]), area)
# Joules of a cycle, watts of two banks, 3 mW/mm2 of the lanes at 25 degrees, which double each 20 K, and the clock:
# 0.085 of what elements, lanes (one FLOP each) and 16 B from each memory take in a cycle.
fp32 = float(machine["origins"]["mac.fp32"]["text"].split()[0])
peak = (256 * 0.5 + 16 * fp32 / 2 + 16 * (8 / 8 + (6 + 10) / 2 / 8)) * 1e-12 * 500e6
kelvins = float(machine["origins"]["idle"]["text"].split(" at ")[1].split()[0])
idle = (256 * 0.001 + 0.2) * 1e-12 * 500e6 + 2 * 2e-3 + 0.085 * peak + 0.003 * lanes * 2 ** ((kelvins - 298.15) / 20)
assert 308 < kelvins < 330
near(number(machine["origins"]["idle"]), idle)
