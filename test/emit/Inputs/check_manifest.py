"""check_manifest.py NODES DEVICES FILE...: a headless Service and an indexed Job (core/v1, batch/v1) that fit together."""
import re
import sys

import yaml

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def check(path, nodes, devices):
    with open(path, encoding="utf-8") as file:
        service, job = yaml.safe_load_all(file)
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    name = job["metadata"]["name"]
    assert LABEL.fullmatch(name) and len(f"{name}-{nodes}") <= 63, name
    assert service["metadata"]["name"] == name
    assert service["spec"]["clusterIP"] == "None", "not headless"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert all(isinstance(port["port"], int) and 0 < port["port"] < 65536 for port in service["spec"]["ports"])
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == nodes
    pod = spec["template"]
    for key, value in service["spec"]["selector"].items():
        assert pod["metadata"]["labels"][key] == value, "the Service selects other pods"
    assert pod["spec"]["restartPolicy"] in ("Never", "OnFailure")
    assert pod["spec"]["subdomain"] == service["metadata"]["name"]
    (container,) = pod["spec"]["containers"]
    assert LABEL.fullmatch(container["name"]) and isinstance(container["image"], str)
    assert all(isinstance(part, str) for part in container["command"] + container["args"])
    (limit,) = container["resources"]["limits"].items()
    assert re.fullmatch(r"[a-z.]+/[a-z]+", limit[0]) and limit[1] == devices
    names = set()
    for entry in container["env"]:
        assert re.fullmatch(r"[A-Z_]+", entry["name"]) and entry["name"] not in names
        names.add(entry["name"])
        assert isinstance(entry["value"], str) if "value" in entry else "fieldRef" in entry["valueFrom"]
    for argument in container["args"]:
        for variable in re.findall(r"\$\((\w+)\)", argument):
            assert variable in names, f"{variable} is not set"
    assert f"--master-addr={name}-0.{name}" in container["args"]
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


for each in sys.argv[3:]:
    check(each, int(sys.argv[1]), int(sys.argv[2]))
