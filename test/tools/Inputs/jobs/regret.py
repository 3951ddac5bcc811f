"""Recomputes regrets of `accord jobs --curve --json` from the completions of the seeds: python3 regret.py FILE."""
import json
import statistics
import sys

document = json.load(open(sys.argv[1], encoding="utf-8"))
policies = {policy["policy"]: policy for policy in document["policies"]}
checked = 0
for regret in document["regrets"]:
    mine, other = (policies[regret[key]] for key in ("policy", "reference"))
    points, jobs = regret["points"], len(mine["jobs"])
    assert points[-1]["jobs"] == jobs and [point["jobs"] for point in points] == sorted({point["jobs"] for point in points})
    # All jobs, from the mean completion of each seed.
    means = [(one["mean_completion_s"], two["mean_completion_s"]) for one, two in zip(mine["seeds"], other["seeds"])]
    assert abs(points[-1]["regret_s"]["mean"] - jobs * statistics.fmean(one - two for one, two in means)) < 1e-3
    assert abs(points[-1]["change"]["mean"] - statistics.fmean(one / two - 1 for one, two in means)) < 1e-6
    for point in points:
        for key in ("regret_s", "change"):
            assert point[key]["low"] <= point[key]["mean"] + 1e-9 and point[key]["mean"] <= point[key]["high"] + 1e-9
    # Parity holds at the points behind it, and not at the last one before it.
    parity = regret["parity"].get("jobs", jobs + 1)
    assert all(point["change"]["mean"] <= 0.02 for point in points if point["jobs"] >= parity)
    assert parity <= jobs or points[-1]["change"]["mean"] > 0.02
    if len(sys.argv) > 2:  # seeds without chance are alike: all points from the completions of the jobs
        order = sorted(range(jobs), key=lambda i: (mine["jobs"][i]["arrival_s"], i))
        times = [[policy["jobs"][i]["completion_s"] - policy["jobs"][i]["arrival_s"] for i in order] for policy in (mine, other)]
        for point in points:
            first, second = (sum(some[: point["jobs"]]) for some in times)
            assert abs(point["regret_s"]["mean"] - (first - second)) < 3e-4 * second, (point, first - second)  # jobs do whole steps
        expected = jobs + 1
        for number in range(jobs, 0, -1):
            if sum(times[0][:number]) / sum(times[1][:number]) - 1 > 0.02:
                break
            expected = number
        assert parity == expected
    checked += 1
print(f"{checked} curves")
