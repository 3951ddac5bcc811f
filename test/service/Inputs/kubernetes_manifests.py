"""kubernetes_manifests.py FILE...: an API server takes each manifest, as `kubectl create --dry-run=server --validate=strict` would post
it, and refuses it where one of its fields is misspelt, of another type, or missing. A queue of Kueue is created before its jobs."""
import copy
import os
import sys

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_kubernetes  # noqa: E402

# Of these, one key names what it likes.
FREE = {"labels", "annotations", "matchLabels", "nodeSelector", "selector", "nodeLabels", "limits"}


def path_of(one):
    for resource, (kind, api, namespaced) in fake_kubernetes.KINDS.items():
        if (kind, api) == (one["kind"], one["apiVersion"]):
            prefix = "/api/v1" if api == "v1" else "/apis/" + api
            place = "/namespaces/" + one["metadata"].get("namespace", "default") if namespaced else ""
            return f"{prefix}{place}/{resource}"
    raise SystemExit(f"no API has {one['apiVersion']} {one['kind']}")


def misspelt(value, path=()):
    """The object with each of its keys misspelt in turn, but for names that are anybody's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if path[-1:] and path[-1] in FREE:
                continue
            yield path + (key,), {**{k: v for k, v in value.items() if k != key}, key + "x": inner}
            for where, made in misspelt(inner, path + (key,)):
                yield where, {**value, key: made}
    elif isinstance(value, list):
        for i, inner in enumerate(value[:3]):
            for where, made in misspelt(inner, path + (str(i),)):
                yield where, [*value[:i], made, *value[i + 1:]]


def main():
    cluster = fake_kubernetes.Cluster({}, 1.0, 1.0, None)
    counts, refused = {}, 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            objects = [one for one in yaml.safe_load_all(file) if one]
        for one in objects:
            query = {} if path.endswith("kueue.yaml") else {"dryRun": "All"}
            status, answer = cluster.answer("POST", path_of(one), copy.deepcopy(one), query)
            assert status == 201, f"{path}: {status} {answer['message']}"
            counts[one["kind"]] = counts.get(one["kind"], 0) + 1
        if counts.get("tried " + objects[-1]["kind"], 0) or os.path.basename(path) == "kueue.yaml":
            continue
        counts["tried " + objects[-1]["kind"]] = 1  # one of each kind is enough
        for where, wrong in misspelt(objects[-1]):
            if where[0] in ("kind", "apiVersion", "metadata"):
                continue
            status, _ = cluster.answer("POST", path_of(wrong), wrong, {"dryRun": "All"})
            assert status == 422, f"{path}: {'.'.join(where)} may be misspelt"
            refused += 1
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if not kind.startswith("tried")))
    print(f"{refused} misspelt fields are refused")


if __name__ == "__main__":
    main()
