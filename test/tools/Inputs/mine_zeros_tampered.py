"""mine_zeros_tampered.py ACCORD FOLDER SCRATCH: every change of what a mining's certificate says of zeros is refused."""
import json
import os

from tampering import CERTIFICATE, MINED, both, edit, folder, tampered, verify

with open(os.path.join(folder, CERTIFICATE)) as f:
    good = json.load(f)
alternatives = good["jobs"][0]["alternatives"]
sparse = [a for a in alternatives if "sparsity" in a]
assert sparse and all("graph" not in a for a in sparse) and verify(folder).returncode == 0, verify(folder).stderr
PLAN = "plan/plan.json"


def layers(change):
    """Of all alternatives with zeros."""
    def apply(document):
        for alternative in document["jobs"][0]["alternatives"]:
            for layer in alternative.get("sparsity", []):
                change(layer)

    return edit(CERTIFICATE, apply)


def first(change):
    return edit(CERTIFICATE, lambda d: change(next(a for a in d["jobs"][0]["alternatives"] if "sparsity" in a)))


for share in ("compute", "weights", "states"):
    tampered(f"less {share}", ["A0906", "of the arithmetic of"], layers(lambda z: z.update({share: z[share] * 0.9})))
    tampered(f"more {share}", ["A0906", "of the arithmetic of"], layers(lambda z: z.update({share: z[share] * 1.1})))
tampered("another pattern", ["A0906", "of the arithmetic of"], layers(lambda z: z.update(n=1)))
# Shares that follow from another pattern: then the plan has other work.
tampered("another pattern with its shares", ["error[A09"],
         layers(lambda z: z.update(n=1, weights=z["weights"] / 2, states=z["states"] / 2)))
tampered("no pattern", ["error[A09"], layers(lambda z: z.update(n=5)))
tampered("another layer", ["A0906", "is no product by weights"], layers(lambda z: z.update(layer="other")))
tampered("no zeros", ["error[A09"], first(lambda a: a.pop("sparsity")))
tampered("zeros of zeros", ["error[A09"], first(lambda a: a.update(same_without_zeros=alternatives.index(sparse[0]))))
tampered("zeros of what is not there", ["error[A09"], first(lambda a: a.update(same_without_zeros=1000)))
tampered("zeros called dense", ["error[A09"], first(lambda a: a.pop("same_without_zeros")))

answer = good["results"][-1]


def cheaper(share):
    return both(
        edit(CERTIFICATE, lambda d: d["results"][-1].update(value=answer["value"] * share, bound=answer["bound"] * min(1, share))),
        edit(MINED, lambda d: d["search"].update(value=answer["value"] * share, bound=answer["bound"] * min(1, share))),
    )


tampered("worth less", ["stated to have the value", "its plans give"], cheaper(0.9))


def repriced(share):
    """The product that takes most, in all that the plan says of its time."""
    def change(document):
        costs = document["costs"]["operations"]
        cost = max((c for c in costs if c["model"] != "schedule"), key=lambda c: c["time_s"])
        cost["time_s"] *= share
        cost["compute_s"] *= share
        cost["transfer_s"] = [t * share for t in cost["transfer_s"]]

    return edit(PLAN, change)


tampered("a cheaper operation", [PLAN, "by the cost model"], repriced(0.5))
tampered("a dense operation", [PLAN, "by the cost model"], repriced(2))
tampered("more memory than zeros leave", [PLAN, "none of the"],
         edit(PLAN, lambda d: d["graph"]["static_tensors"][0].update(bytes=d["graph"]["static_tensors"][0]["bytes"] * 2)))
print(tampered.count, "certificates refused")
