"""choose_exhaustive.py ACCORD FILE.dnn PRICES.csv [--every N] [--counts 1,2,...]: plans every training of a file on each offer of a
price list alone, up to each number of instances by itself, and compares the best of all with what `accord choose` answers for the
whole list at once. Each offer and number is a run of its own, which shares no plan with any other. Fails where the answer is
dearer than the best, or where an option of both has another time or price. `--every N`: each Nth offer of the list."""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("accord")
parser.add_argument("trainings")
parser.add_argument("prices")
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--counts", default="16")
options = parser.parse_args()
counts = sorted(int(count) for count in options.counts.split(","))


def choose(rows, count):
    """By training: time, price, and the rest of the chosen option; nothing where no offer is known or none fits."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "prices.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames)
            writer.writeheader()
            writer.writerows(rows)
        def run(more):
            command = [options.accord, "choose", options.trainings, "--from", path, "--max-instances", str(count), "--json"]
            done = subprocess.run(command + more, capture_output=True, text=True, check=False)
            document = json.JSONDecoder().raw_decode(done.stdout)[0] if done.stdout else {}  # what was warned of follows
            return {training["name"]: training["chosen"] for training in document.get("trainings", [])}

        # Without limits trainings do not depend on each other; where one has no plan, each is asked alone.
        found = run([])
        for name in names if not found else []:
            found.update(run(["--train", name]))
        return found


with open(options.prices, encoding="utf-8", newline="") as file:
    reader = csv.DictReader(file)
    table, fieldnames = list(reader)[:: options.every], reader.fieldnames
names = []
answer = choose(table, counts[-1])
names = sorted(answer)
best, runs, alike = {}, 0, 0
for row in table:
    for count in counts:
        for name, one in choose([row], count).items():
            runs += 1
            if name not in best or one["price"]["value"] < best[name]["price"]["value"]:
                best[name] = one
            if (one["instance"], one["region"], one["instances"], one["spot"]) == tuple(
                    answer[name][key] for key in ("instance", "region", "instances", "spot")):
                alike += 1
                if one["time_s"] != answer[name]["time_s"] or one["price"] != answer[name]["price"]:
                    sys.exit(f"{name}: {one} by itself, and {answer[name]}")
wrong = 0
for name in names:
    ratio = answer[name]["price"]["value"] / best[name]["price"]["value"]
    wrong += ratio > 1 + 1e-12
    print(f"{name}: {answer[name]['price']['value']:.2f} USD, {ratio:.12f} of the best of all offers")
print(f"{len(table)} offers, {len(names)} trainings, {runs} options of separate runs, {alike} of them chosen and the same")
sys.exit(wrong > 0 or alike < len(names))
