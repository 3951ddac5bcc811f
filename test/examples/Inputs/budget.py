"""budget.py PLAN FREE: the first plan keeps 20 kW, the second, without that limit, takes more power and is faster."""
import json
import sys

plans = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        plans.append(json.load(file))
kept, free = plans
power, more = (plan["energy_J"] / plan["step_time_s"] for plan in plans)
assert power <= 20e3 < more, (power, more)
assert free["step_time_s"] < kept["step_time_s"] and free["devices"] > kept["devices"], (kept["devices"], free["devices"])
