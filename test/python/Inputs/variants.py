"""variants.py EXAMPLES: sparsity and an ensemble built in Python are formatted, and answered as the texts of the examples are."""

import os
import sys

import accord

examples = sys.argv[1]
job = accord.Training(
    "gpt2()",
    "a100_80g",
    imports=["catalog/a100.accel", "catalog/gpt2.dnn"],
    batch=32,
    precision="mixed(bf16)",
    optimizer="adamw",
    search={"microbatch": 8},
    minimize="step_time",
)
masks = {"block.*": ["nm(2, 4)", "nm(2, 4, along = output)"], "block.mlp.*": "{nm(2, 4)} transposable"}
sparse = accord.Sparsity(job, masks, minimize="step_time")
written = accord.prune(os.path.join(examples, "11-prune", "gpt2.dnn"))
print("sparsity:", accord.format(sparse) == sparse.text(), accord.prune(sparse) == written)

whole = accord.Training(
    "resnet50()",
    "a100_40g",
    name="whole",
    imports=["catalog/a100.accel", "catalog/v100.accel", "catalog/resnet.dnn"],
    batch=512,
    precision="mixed(fp16)",
    optimizer="momentum",
    search={"microbatch": accord.one_of(512)},
)
voters = accord.Ensemble(
    whole,
    {"full": "resnet50()", "wide": "resnet34()", "thin": "resnet18()"},
    votes=os.path.join(examples, "12-vote", "votes.csv"),
    size=accord.span(1, 5),
    voting="majority",
    devices={"a100_40g": 1, "v100_16g": 2},
    require="error <= 0.23 confidence 0.95",
    minimize="step_time",
)
answer = accord.vote(voters)
print("ensemble:", accord.format(voters) == voters.text(), answer.verify().status, repr(answer))
for wrong in (lambda: accord.Ensemble(whole, {"a b": "resnet50()"}), lambda: accord.prune(accord.Sparsity(job, {"nothing.*": "{nm(2, 4)}"}))):
    try:
        print(f"ACCEPTED {wrong()!r}")
    except (ValueError, accord.InputError) as error:
        print(f"{type(error).__name__} {error}")
