"""check_run.py ACCORD FOLDER FILE...: changes each number of the `run` in FILEs of an answer (all alike), one at a time.
`accord verify` has to refuse each, and to name it."""
import json
import shutil
import subprocess
import sys
import tempfile

ESTIMATE = {
    "time_s": "the calendar time", "energy_J": "the energy", "carbon_g": "the carbon", "device_hours": "the device hours",
    "goodput": "the goodput", "interruptions": "interruptions", "price": "the price",
    "checkpoint_interval_s": "checkpoint", "checkpoint_s": "the time of a checkpoint",
    "checkpoints_s": "the time of checkpoints", "lost_work_s": "the time of lost work", "outages_s": "the time of outages",
    "spare_servers_needed": "spare servers", "step_s": "the time of steps", "stragglers_s": "stragglers",
    "waiting_for_repair_s": "waiting for repair",
}
PROBLEM = {
    "steps": "the number of steps", "devices": "the number of devices", "servers": "the number of servers",
    "step_time_s": "the step time", "energy_per_step_J": "the energy of a step", "idle_W": "the idle power",
    "price_per_s": "the price of a second",
}


def places(run):
    """Of each number that follows from others: its place, and the words by which it has to be named."""
    for part, names in (("estimate", ESTIMATE), ("problem", PROBLEM)):
        assert part == "problem" or set(names) == set(run[part]), set(names) ^ set(run[part])
        for key, words in names.items():
            value = run[part][key]
            # A median outside of its interval is refused before that.
            for end in value if isinstance(value, dict) else [None]:
                yield part, key, end, words


def changed(value):
    return value + 1 if isinstance(value, int) or value == 0 else value * 1.2


def main(accord, folder, files):
    documents = {}
    for name in files:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            documents[name] = json.load(file)
    count = 0
    for part, key, end, words in places(documents[files[0]]["run"]):
        with tempfile.TemporaryDirectory() as forged:
            shutil.copytree(folder, forged, dirs_exist_ok=True)
            for name in files:
                document = json.loads(json.dumps(documents[name]))
                at, last = (document["run"][part][key], end) if end else (document["run"][part], key)
                at[last] = changed(at[last])
                with open(f"{forged}/{name}", "w", encoding="utf-8") as file:
                    json.dump(document, file)
            done = subprocess.run([accord, "verify", forged], capture_output=True, text=True, check=False)
            said = done.stdout + done.stderr
            # Where a part of the time is small, the sum shows it.
            names = (words, "the calendar time") if end is None and part == "estimate" else (words,)
            if key == "time_s":  # of which the hours of devices are a multiple
                names += ("the device hours",)
            if done.returncode != 1 or not any(one in said for one in names):
                sys.exit(f"{part}.{key}.{end} passes for true, or is not named '{words}': {done.returncode}\n{said}")
            count += 1
    print(f"{count} changed numbers are refused")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
