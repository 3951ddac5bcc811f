"""mine_tampered_cluster.py ACCORD FOLDER SCRATCH: every change that matters of the certificate of a
mining for the devices of a cluster is refused, with the file or the answer it is in."""
import json
import os

from tampering import CERTIFICATE, MINED, SPACE, both, edit, folder, put, tampered, text, verify

with open(os.path.join(folder, CERTIFICATE)) as f:
    good = json.load(f)
assert verify(folder).returncode == 0, verify(folder).stderr
placed = next(i for i, job in enumerate(good["jobs"]) if "cluster" in job)
name = good["jobs"][placed]["name"]
answer = next(a for a in good["results"] if a["jobs"] == [placed])
at = good["results"].index(answer)


def cluster(change):
    return edit(CERTIFICATE, lambda d: change(d["jobs"][placed]["cluster"]))


def claimed(change):
    return edit(CERTIFICATE, lambda d: change(d["results"][at]))


def both_bounds(share):
    """Of the cluster's job alone, with value and winner left as they are."""
    return both(
        claimed(lambda a: a.update(bound=a["bound"] * share)),
        edit(MINED, lambda d: d["individual"][at]["search"].update(bound=answer["bound"] * share)),
    )


tampered("a bound raised", ["below the bound of"], both_bounds(1.01))
plans = [p["plan"] for s in answer["unproven_designs"] for p in s.get("plans", [])]
assert plans
proof = "certificate/design-%d.json" % plans[0]
tampered("a survivor left out", ["nothing says what was found for it"],
         claimed(lambda a: a["unproven_designs"].pop(0)))
tampered("a survivor worth less", ["the search found"],
         claimed(lambda a: a["unproven_designs"][0].update(value=a["bound"] * 0.9)))
tampered("no problem", [proof, "cannot be read"], lambda root: os.remove(os.path.join(root, proof)))
for content in (b"", b"{}", bytes(range(256))):
    tampered("a problem that is none", [proof], put(proof, content))


def costs(change):
    def apply(problem):
        for cls in problem["classes"]:
            for cost in cls["costs"]:
                change(cost)

    return edit(proof, apply)


def scaled(share, *keys):
    return lambda cost: cost.update({k: int(cost[k] * share) for k in keys if k in cost})


TIMES = ("forward", "backward", "weight")
tampered("dearer layers", [proof, "is stated, by its schedule it is"], costs(scaled(2, *TIMES)))
tampered("cheaper layers", [proof, "is stated, by its schedule it is"], costs(scaled(0.5, *TIMES)))
tampered("more resident", [proof, "static memory"], costs(scaled(2, "static_memory")))
tampered("more kept", [proof, "none of its schedules"],
         costs(lambda cost: [k.update(activations=k.get("activations", 0) + 8) for k in cost["recompute_choices"]]))
tampered("a layer that cannot run", [proof, "not to run so"], edit(proof, lambda p: p["classes"][0]["costs"].__setitem__(0, None)))
tampered("fewer layers", [proof, "layers"], edit(proof, lambda p: p.update(layers=p["layers"][:-1], edges=p["edges"][:-1])))
tampered("larger tensors", [proof, "from layer to layer"],
         edit(proof, lambda p: p["edges"][0].__setitem__(2, 2 * p["edges"][0][2])))
tampered("another memory", ["the design's devices have"],
         edit(proof, lambda p: p["device_types"][0].update(memory_bytes=p["device_types"][0]["memory_bytes"] // 2)))
tampered("fewer devices", ["devices are others"],
         edit(proof, lambda p: p["device_types"][0].update(devices=p["device_types"][0]["devices"] - 1)))
tampered("a slower link", ["links"], edit(proof, lambda p: p["links"][0]["inter_node"].__setitem__(1, 1e9)))
tampered("pinned layers", ["layers have placement constraints"], edit(proof, lambda p: p.update(placement_constraints=[{"text": "x", "same_stage": True}])))

# Without a problem for its forms a design is one that rests on the search: that is said.
def all_without(document):
    for design in document["results"][at]["unproven_designs"]:
        design["plans"] = []


def left_to_the_search(text):
    import re
    return sum(int(count) for count in re.findall(r"the search: for (\d+) designs it found no step of less than", text))


before = left_to_the_search(verify(folder).stdout)


def said(minimum, change):
    import shutil, tampering
    shutil.rmtree(tampering.scratch, ignore_errors=True)
    shutil.copytree(folder, tampering.scratch)
    change(tampering.scratch)
    run = verify(tampering.scratch)
    # Besides, mine.json states another hash of the certificate.
    assert left_to_the_search(run.stdout) >= minimum, (before, run.stdout)
    assert run.stderr.count("error[") == run.stderr.count("error[A0954]"), run.stderr


said(before + 1, edit(CERTIFICATE, all_without))


def less_forms(problem):
    problem["parallel_configs"].pop()
    for cls in problem["classes"]:
        cls["costs"].pop()


most = max(plans, key=lambda n: len(json.load(open(os.path.join(folder, "certificate/design-%d.json" % n)))["parallel_configs"]))
wide = "certificate/design-%d.json" % most
if len(json.load(open(os.path.join(folder, wide)))["parallel_configs"]) > 1:
    said(max(before, 1), edit(wide, less_forms))

# The cluster, its work, the placement by which the design is valued.
placement = "placement-%s-alone" % name
def drop_forms(problem):
    """All but those of one micro-batch."""
    keep = [i for i, form in enumerate(problem["parallel_configs"]) if form["microbatch"] == 2]
    problem["parallel_configs"] = [problem["parallel_configs"][i] for i in keep]
    for cls in problem["classes"]:
        cls["costs"] = [cls["costs"][i] for i in keep]


def heavier(c):
    for step in c["steps"]:
        for operation in step["graph"]["operations"]:
            operation["flops"] *= 2


tampered("another cluster", ["devices are others"], cluster(lambda c: c["problem"]["device_types"][0].update(devices=8)))
tampered("slower links", ["links"], cluster(lambda c: c["problem"]["links"][0]["inter_node"].__setitem__(1, 1e9)))
tampered("a form left out", ["is no parallel configuration of the cluster"], cluster(lambda c: drop_forms(c["problem"])))
tampered("more work", ["A0906"], cluster(heavier))
tampered("no steps", ["A09"], cluster(lambda c: c.update(steps=[])))
tampered("a class that is none", [CERTIFICATE],
         cluster(lambda c: c["layers"].update({next(iter(c["layers"])): 99})))
tampered("another objective", [CERTIFICATE.split("/")[0]],
         cluster(lambda c: c["problem"].update(objective="energy")))
tampered("no placement", [placement, "cannot be read"],
         lambda root: os.remove(os.path.join(root, placement, "certificate/placement.json")))
tampered("another machine", ["A0906"], text(SPACE, "100 GB/s", "200 GB/s"))
print(tampered.count, "certificates refused")
