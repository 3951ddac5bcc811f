"""mine_tampered.py ACCORD FOLDER SCRATCH: every change of a mining's certificate that matters is
refused, with the file or the answer it is in and numbers."""
import json
import os

from tampering import CERTIFICATE, MINED, SPACE, both, edit, folder, put, tampered, text, verify

with open(os.path.join(folder, CERTIFICATE)) as f:
    good = json.load(f)
common = good["results"][-1]
assert len(good["results"]) == 3 and verify(folder).returncode == 0, verify(folder).stderr


def raised(share, mined=True):
    """All three bounds, in both files."""
    def claim(document):
        for answer in document["results"]:
            answer["bound"] *= share

    def told(document):
        for one in [document] + document["individual"]:
            one["search"]["bound"] *= share

    return both(edit(CERTIFICATE, claim), edit(MINED, told) if mined else lambda root: None)


# The bound.
tampered("raised in the certificate alone", ["below the bound of"], raised(1.001, mined=False))
tampered("raised above the value", ["below the bound of"], raised(3))


def to_value(document, answers):
    for one, answer in zip(answers, good["results"]):
        one["bound"] = answer["value"]
        answer.get("unproven_designs", []).clear()


open_designs = any(a["bound"] < a["value"] * (1 - 1e-6) for a in good["results"])
if open_designs:
    tampered(
        "raised to the value",
        ["A0906", "nothing says what was found for it"],
        both(
            edit(CERTIFICATE, lambda d: to_value(d, d["results"])),
            edit(MINED, lambda d: to_value(d, [o["search"] for o in d["individual"]] + [d["search"]])),
        ),
    )

# The design, its worth, the ratios.
winner = list(common["winner"])
other = [(w + 1) % len(p["values"]) for w, p in zip(winner, good["parameters"])]


def change_winner(document):
    document["results"][-1]["winner"][0] = other[0]


tampered("another design", ["error[A09"], edit(CERTIFICATE, change_winner))
chosen = good["parameters"][0]
tampered(
    "another design in both",
    ["A0906", "keep 'budget'", "mm2"],
    both(
        edit(CERTIFICATE, change_winner),
        edit(MINED, lambda d: d["design"]["chosen"].update({chosen["name"]: chosen["values"][other[0]]})),
    ),
)


def cheaper(share):
    return both(
        edit(CERTIFICATE, lambda d: d["results"][-1].update(value=common["value"] * share, bound=common["bound"] * min(1, share))),
        edit(MINED, lambda d: d["search"].update(value=common["value"] * share, bound=common["bound"] * min(1, share))),
    )


tampered("worth less", ["stated to have the value", "its plans give"], cheaper(0.9))
tampered("worth more", ["stated to have the value", "its plans give"], cheaper(1.1))
tampered("ratio to something else", ["its individual best design has the value"],
         edit(CERTIFICATE, lambda d: d["jobs"][0].update(best=d["jobs"][0]["best"] * 2)))
tampered("a job alone left out", ["error[A09"], edit(CERTIFICATE, lambda d: d["results"].pop(0)))
tampered("a job left out", ["certificate"], edit(CERTIFICATE, lambda d: d["jobs"].pop()))


def survivor(document):
    answer = document["results"][-1]
    answer["unproven_designs"].append({"design": answer["winner"], "value": answer["bound"] * 0.5})


tampered("the search found less", ["the search found"], edit(CERTIFICATE, survivor))

# Plans of other designs, by which they are no better.
proofs = [(a, s, p) for a in good["results"] for s in a["unproven_designs"] for p in s.get("plans", [])]
assert proofs
proof = "certificate/design-%d.json" % proofs[0][2]["plan"]
tampered("no such plan", [proof, "cannot be read"], lambda root: os.remove(os.path.join(root, proof)))
tampered("a plan's bound raised", [proof, "A0906"],
         edit(proof, lambda d: d["schedule"].update(bound_ps=2 * d["schedule"]["step_ps"])))
tampered("a survivor missing", ["nothing says what was found for it"],
         edit(CERTIFICATE, lambda d: [a["unproven_designs"].clear() for a in d["results"]]))
tampered("a plan of another machine", [proof, "by the space"],
         edit(proof, lambda d: d["machine"]["cores"][0].update(count=d["machine"]["cores"][0]["count"] + 1)))

# The space.

def drop(words):
    def apply(root):
        path = os.path.join(root, SPACE)
        with open(path) as f:
            lines = f.readlines()
        kept = [line for line in lines if words not in line]
        assert len(kept) < len(lines)
        with open(path, "w") as f:
            f.writelines(kept)

    return apply


tampered("no requirement", ["error[A09"], drop("accel.require"))
tampered("no requirement in both", ["A0906", "nothing says what was found for it"],
         both(drop("accel.require"), edit(MINED, lambda d: d["space"].update(requirements=[]))))
tampered("a faster memory", ["by the space"], text(SPACE, "100 GB/s", "200 GB/s"))
tampered("another choice", ["is one of"], text(SPACE, "1 MiB", "2 MiB"))
tampered("another space", ["error[A09"], text(SPACE, "@chips", "@chops"))
tampered("another metric", ["error[A09"], edit(CERTIFICATE, lambda d: d.update(metric="energy")))

# The work.
first = good["results"][0]["name"]


def lighter(document):
    for job in document["jobs"]:
        for way in job["alternatives"]:
            for operation in way["graph"]["operations"]:
                operation["flops"] //= 2


tampered("less work", ["its work", "none of the"], edit(CERTIFICATE, lighter))


def without(document):
    document["jobs"][0]["alternatives"][0]["graph"]["operations"].pop()


tampered("an operation dropped", [CERTIFICATE], edit(CERTIFICATE, without))
PLAN = "plan-small/plan.json"


def repriced(share):
    """One operation, in all that the plan says of its time."""
    def change(document):
        costs = document["costs"]["operations"]
        cost = max((c for c in costs if c["model"] != "schedule"), key=lambda c: c["time_s"])
        cost["time_s"] *= share
        cost["compute_s"] *= share
        cost["transfer_s"] = [t * share for t in cost["transfer_s"]]

    return edit(PLAN, change)


tampered("a dearer operation", [PLAN, "by the cost model"], repriced(2))
tampered("a cheaper operation", [PLAN, "by the cost model"], repriced(0.5))
tampered("no plan", ["plan-small/plan.json", "cannot be read"],
         lambda root: os.remove(os.path.join(root, "plan-small/plan.json")))

# Files that are none.
with open(os.path.join(folder, CERTIFICATE), "rb") as f:
    whole = f.read()
for file in (CERTIFICATE, SPACE, MINED):
    tampered("missing " + file, [file, "cannot be read"], lambda root: os.remove(os.path.join(root, file)))
    tampered("empty " + file, [file], put(file, b""))
    tampered("binary " + file, [file], put(file, bytes(range(256))))

    def folder_instead(root):
        os.remove(os.path.join(root, file))
        os.mkdir(os.path.join(root, file))

    tampered("folder " + file, [file], folder_instead)
tampered("cut off", [CERTIFICATE], put(CERTIFICATE, whole[: len(whole) // 2]))
for key, value in (("winner", [99] * len(winner)), ("winner", []), ("jobs", [7]), ("jobs", []), ("bound", -1), ("value", "x")):
    tampered("wrong " + key, [CERTIFICATE], edit(CERTIFICATE, lambda d: d["results"][-1].update({key: value})))
tampered("unknown key", [CERTIFICATE, "unknown key"], edit(CERTIFICATE, lambda d: d.update(more=1)))
tampered("a value twice", ["is one of"], edit(CERTIFICATE, lambda d: d["parameters"][0]["values"].append("1 MiB")))
print(tampered.count, "certificates refused")
