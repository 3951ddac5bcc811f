"""check_kubernetes.py SCHEMA.json CHECK_SCHEMA.py KIND NODES FILE: objects of a manifest have the fields that their schemas
describe, and fit together: NODES servers in all, whose numbers do not overlap, which meet at a pod that there is."""
import importlib.util
import json
import re
import sys

import yaml

schema_path, checker_path, kind, nodes, path = sys.argv[1:]
spec = importlib.util.spec_from_file_location("check_schema", checker_path)
check_schema = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_schema)
with open(schema_path, encoding="utf-8") as file:
    schema = json.load(file)
with open(path, encoding="utf-8") as file:
    objects = list(yaml.safe_load_all(file))
errors = []
for one in objects:
    check_schema.check(one, schema["$defs"][one["kind"]], schema, one["kind"], errors)
assert not errors, "\n".join(errors)
assert objects[-1]["kind"] == kind, objects[-1]["kind"]


def check_servers(pod):
    """Every pod asks for the type of its devices, and for products where servers say which they have."""
    assert len(pod["nodeSelector"]) == 1, pod
    (known, unknown) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [one["key"] for one in known["matchExpressions"]] == ["nvidia.com/gpu.product", "nvidia.com/gpu.memory"]
    assert unknown["matchExpressions"] == [{"key": "nvidia.com/gpu.product", "operator": "DoesNotExist"}]


def check_command(container):
    """The guard stands before the launcher; Kubernetes takes $$ for $."""
    shell, option, script, name = container["command"]
    assert (shell, option, name) == ("sh", "-c", "train")
    script = script.replace("$$", "\0")
    assert "$" not in script, "Kubernetes would expand it"
    lines = script.replace("\0", "$").splitlines()
    assert lines[0] == "accord_guard() (" and lines[-2] == "accord_guard || exit", lines
    assert lines[-1].startswith("exec torchrun") and lines[-1].endswith(' "$@"'), lines[-1]


KUEUE = "kueue.x-k8s.io/podset-"


def check_topology(template, metadata, count):
    """Kueue's own rules (its webhooks): one of required and preferred, levels are names of labels, a slice has its size, which
    divides the pods; and only what it admits has them."""
    told = {key.removeprefix(KUEUE): value for key, value in template.get("metadata", {}).get("annotations", {}).items()}
    assert not told or "kueue.x-k8s.io/queue-name" in metadata["labels"], told
    assert set(told) <= {"required-topology", "preferred-topology", "slice-required-topology", "slice-size"}, told
    assert not {"required-topology", "preferred-topology"} <= set(told), told
    assert ("slice-size" in told) == ("slice-required-topology" in told), told
    assert count % int(told.get("slice-size", 1)) == 0, told
    for key, value in told.items():
        assert key == "slice-size" or re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", value), told


def first_node(container):
    """Number of the first server of an indexed job, by what torchrun is told."""
    for argument in container["command"] + container["args"]:
        if argument == "--node-rank=$(NODE_RANK)":
            return 0
        if found := re.search(r"--node-rank=\$\$\(\(NODE_RANK \+ (\d+)\)\)", argument):
            return int(found[1])
    raise AssertionError("no rank is given")


spec = objects[-1]["spec"]
name = objects[-1]["metadata"]["name"]
if kind == "JobSet":
    servers, pods, selectors = [], [], []
    for job in spec["replicatedJobs"]:
        inner = job["template"]["spec"]
        pod = inner["template"]["spec"]
        (container,) = pod["containers"]
        check_servers(pod)
        check_command(container)
        first, count = first_node(container), inner["completions"]
        check_topology(inner["template"], objects[-1]["metadata"], count)
        assert inner["parallelism"] == count
        servers += range(first, first + count)
        pods.append(f"{name}-{job['name']}-0-{count}-12345")
        selectors.append(tuple(pod.get("nodeSelector", {}).items()))
        assert f"--master-addr={name}-{spec['replicatedJobs'][0]['name']}-0-0.{spec['network']['subdomain']}" in container["args"]
        assert f"--nnodes={nodes}" in container["args"]
        (limit,) = container["resources"]["limits"].values()
        assert f"--nproc-per-node={limit}" in container["args"]
    assert servers == list(range(int(nodes))), servers
    assert all(len(pod) <= 63 for pod in pods), pods
    assert len(set(selectors)) == len(selectors), "two kinds of devices on the same servers"
elif kind == "TrainJob":
    trainer = spec["trainer"]
    check_command(trainer)
    (patch,) = spec["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert job["name"] == "node", "the trainer of a runtime"
    check_servers(job["template"]["spec"]["template"]["spec"])
    check_topology(job["template"]["spec"]["template"], objects[-1]["metadata"], trainer["numNodes"])
    assert trainer["numNodes"] == int(nodes)
    assert list(trainer["resourcesPerNode"]["limits"].values()) == [trainer["numProcPerNode"]]
else:
    pod = spec["template"]["spec"]
    check_servers(pod)
    check_command(pod["containers"][0])
    check_topology(spec["template"], objects[-1]["metadata"], spec["completions"])
