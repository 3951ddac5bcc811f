"""mask_times.py EACH HUNDRED: masks that are found every hundred steps take a hundredth of those of each step."""
import json
import sys

each, hundred = ({(layer["name"], option["label"]): option["mask_search"]["expected_s"]
                  for layer in json.load(open(path))["step"]["layers"]
                  for option in layer["options"] if option.get("mask_search")} for path in sys.argv[1:])
assert each and each.keys() == hundred.keys()
for name, seconds in each.items():
    assert seconds > 0 and abs(hundred[name] * 100 / seconds - 1) < 1e-9, name
