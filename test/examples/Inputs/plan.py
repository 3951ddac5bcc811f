#!/usr/bin/env python3
"""plan.py FOLDER least_s microbatch…: the plan is no faster than arithmetic allows and its microbatch is one of those."""
import json
import os
import sys

with open(os.path.join(sys.argv[1], "plan.json")) as file:
    plan = json.load(file)
least, allowed = float(sys.argv[2]), [int(m) for m in sys.argv[3:]]
assert plan["step_time_s"] >= least, "step of %r s, below %r s" % (plan["step_time_s"], least)
assert not allowed or plan["microbatch"] in allowed, "microbatch %r" % plan["microbatch"]
