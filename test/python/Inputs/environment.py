"""An environment against the command: rewards, shields, fixed sizes, and what is refused."""
import json
import sys

import accord

inputs, path, answer = sys.argv[1:]
TRACE = dict(trace=inputs + "/night.trace", profiles=inputs + "/throughputs.json", servers="fast=2x1,slow=4x1", draw=12, load=3)


def episode(environment, seed, act):
    """The sum of rewards, rounds, and rounds with a shield."""
    seen, info = environment.reset(seed=seed)
    total, rounds, shielded, over = 0.0, 0, 0, False
    while not over:
        seen, reward, over, _, info = environment.step(act(seen, info))
        total, rounds, shielded = total + reward, rounds + 1, shielded + info["shielded"]
    return total, rounds, shielded


with open(answer, encoding="utf-8") as file:
    policies = {one["policy"]: one for one in json.load(file)["policies"]}
near = lambda name, totals: all(abs(-total / 12 - one["mean_completion_s"]) < 1e-6 for total, one in zip(totals, policies[name]["seeds"]))
environment, actor = accord.JobsEnvironment(**TRACE), accord.JobsActor(path)
print("learned: the same", near("learned", [episode(environment, seed, lambda _, info: [0.0] * info["jobs"])[0] for seed in range(5)]))
shielding = accord.JobsEnvironment(**TRACE, shield=0.05)
ran = [episode(shielding, seed, lambda seen, _: actor(seen)) for seed in range(5)]
rounds, shielded = sum(one[1] for one in ran), sum(one[2] for one in ran)
counted = (policies["actor"]["shielded_rounds"], policies["actor"]["weighed_rounds"])
print(f"actor: the same {near('actor', [one[0] for one in ran])}, shielded in {shielded} of {rounds} rounds: the same {counted == (shielded, rounds)}")

fixed = accord.JobsEnvironment(jobs=30, max_jobs=3, max_rounds=2)
while True:
    seen, info = fixed.reset()
    if info["jobs"] >= 3:
        break
    for _ in range(2):
        seen, _, over, truncated, info = fixed.step([0.5, -0.5, 0.0])
        if over or info["jobs"] >= 3:
            break
    if info["jobs"] >= 3:
        break
print(f"max_jobs: {tuple(seen['jobs'].shape)}, mask {[int(one) for one in seen['mask']]}", len(actor(seen)) == 3)
fixed.reset()
print("truncated after", next(i for i in range(1, 9) if fixed.step([0.0, 0.0, 0.0])[3]), "rounds")


def refused(work):
    try:
        work()
    except accord.InputError as error:
        print("InputError:", error)


seen, info = environment.reset(seed=1)
refused(lambda: environment.step([0.0] * (info["jobs"] + 1)))
refused(lambda: environment.step([float("nan")] * info["jobs"]))
over = False
while not over:
    seen, _, over, _, info = environment.step([0.0] * info["jobs"])
refused(lambda: environment.step([]))
refused(lambda: accord.JobsEnvironment().step([]))
refused(lambda: accord.JobsEnvironment("nowhere.csv", servers="2x4"))
refused(lambda: accord.JobsEnvironment(servers="2x4"))
refused(lambda: accord.JobsEnvironment(jobs=0))
refused(lambda: accord.JobsActor("nowhere.onnx"))
