"""mine_tampered_clusters.py ACCORD FOLDER SCRATCH: every change that matters of the certificate of a
mining that leaves numbers of a cluster open (boards, chips, and last a bandwidth with two values)
is refused; a cluster that is said to have no placement is told."""
import json
import os
import shutil

import tampering
from tampering import CERTIFICATE, MINED, both, edit, folder, tampered, verify

with open(os.path.join(folder, CERTIFICATE)) as f:
    good = json.load(f)
assert verify(folder).returncode == 0, verify(folder).stderr
points = good["jobs"][0]["clusters"]["points"]
assert len(points) == 8 and good["num_cluster_parameters"] == 3
winner = good["results"][0]["winner"][-3:]
best = winner[0] * 4 + winner[1] * 2 + winner[2]


def clusters(change):
    return edit(CERTIFICATE, lambda d: change(d["jobs"][0]["clusters"]))


def put(at, cluster):
    return clusters(lambda c: c["points"].__setitem__(at, cluster))


# A cluster of another number of boards or chips.
for at in range(0, 8, 2):
    for other in range(0, 8, 2):
        if at != other:
            tampered("point %d has that of %d" % (at, other), [], put(at, points[other]))
tampered("fewer boards", ["devices, others have"], put(6, points[0]))


def exchanged(c):
    """The faster bus where the slower one is said to be, and the other way round."""
    c["points"][6], c["points"][7] = c["points"][7], c["points"][6]


tampered("buses exchanged", [], clusters(exchanged))
less = next(at for at in (2, 6) if at + 1 != best and points[at] != points[at + 1])


def elsewhere(c):
    c["points"][less], c["points"][less + 1] = c["points"][less + 1], c["points"][less]


tampered("buses exchanged elsewhere", ["its network is slower than with less of 'bus.bandwidth'"], clusters(elsewhere))

# A point left out.
tampered("no last point", [CERTIFICATE, "not one for each choice"], clusters(lambda c: c["points"].pop()))
tampered("no winner's cluster", ["there is no such cluster"], put(best, None))
tampered("no cluster", [CERTIFICATE], clusters(lambda c: c.update(all=[])))
tampered("a cluster that is none", [CERTIFICATE, "points"], put(0, 99))
tampered("one cluster for all", [CERTIFICATE],
         edit(CERTIFICATE, lambda d: d["jobs"][0].update(cluster=d["jobs"][0].pop("clusters")["all"][0])))


def less_forms(c):
    problem = c["all"][points[0]]["problem"]
    problem["parallel_configs"].pop()
    for one in problem["classes"]:
        one["costs"].pop()


tampered("a form left out", ["are left out, which another cluster has"], clusters(less_forms))

# What is beside the machine.
tampered("fewer parameters of clusters", [CERTIFICATE], edit(CERTIFICATE, lambda d: d.update(num_cluster_parameters=2)))
tampered("none", [CERTIFICATE], edit(CERTIFICATE, lambda d: d.pop("num_cluster_parameters")))
tampered("too many", [CERTIFICATE], edit(CERTIFICATE, lambda d: d.update(num_cluster_parameters=99)))
place = len(good["parameters"]) - 3


def more_boards(document, parameters):
    parameters[place]["values"] = ["1", "3"]


tampered("other numbers of boards", ["A09"], both(
    edit(CERTIFICATE, lambda d: more_boards(d, d["parameters"])),
    edit(MINED, lambda d: more_boards(d, d["space"]["parameters"]))))

# What steps exchange.
tampered("a graph that is none", [CERTIFICATE], clusters(lambda c: c["all"][0].update(structure=99)))
tampered("no seconds", [CERTIFICATE, "not one for each communication"],
         clusters(lambda c: c["all"][points[best]]["steps"][-1].update(seconds=[])
                  if c["all"][points[best]]["steps"][-1]["seconds"] else c["all"][-1]["steps"][-1].update(seconds=[])))

# No placement where there could be one: its designs rest on the search, which is said.
shutil.rmtree(tampering.scratch, ignore_errors=True)
shutil.copytree(folder, tampering.scratch)
put((best + 4) % 8, None)(tampering.scratch)


def fewer(document):
    here = (best + 4) % 8
    for answer in document["results"]:
        answer["unproven_designs"] = [s for s in answer["unproven_designs"]
                               if s["design"][-3] * 4 + s["design"][-2] * 2 + s["design"][-1] != here]


edit(CERTIFICATE, fewer)(tampering.scratch)
run = verify(tampering.scratch)
assert "that no stage of 'small' can be on the clusters of 10 designs" in run.stdout, (run.stdout, run.stderr)
assert "error[A0954]" in run.stderr and run.stderr.count("error[") == run.stderr.count("error[A0954]"), run.stderr  # hashes
print(tampered.count, "certificates refused")
