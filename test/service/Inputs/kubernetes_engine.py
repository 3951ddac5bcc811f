"""kubernetes_engine.py ACCORD_UNIT FOLDER GRACE FILTER...: runs tests of the engine, each filter against an API server of its own, all
at once, within a minute; grace periods of pods last GRACE times as long."""
import json
import os
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUES = [
    ("resourceflavors", {"kind": "ResourceFlavor", "metadata": {"name": "a100"}, "spec": {"nodeLabels": {"accord/device": "a100"}}}),
    ("clusterqueues", {"kind": "ClusterQueue", "metadata": {"name": "lab"}, "spec": {"resourceGroups": [{
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]}}),
    ("namespaces/default/localqueues", {"kind": "LocalQueue", "metadata": {"name": "lab"}, "spec": {"clusterQueue": "lab"}})]


def post(url, body):
    asked = urllib.request.Request(url, method="POST", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)


def main():
    unit, folder, grace, filters = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    started, tests = [], []
    try:
        for number, wanted in enumerate(filters):
            server = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "fake_kubernetes.py"), os.path.join(folder, str(number)),
                                       "--scale", "0.1", "--grace", grace, "a1=a100:4", "a2=a100:4"], stdout=subprocess.PIPE, text=True)
            started.append(server)
            url = server.stdout.readline().strip()
            for path, one in QUEUES:
                post(f"{url}/apis/{KUEUE}/{path}", {"apiVersion": KUEUE, **one})
            test = subprocess.Popen([unit, "--gtest_filter=" + wanted, "--gtest_brief=1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, env={**os.environ, "ACCORD_TEST_KUBERNETES": url})
            started.append(test)
            tests.append((wanted, test))
        failed = False
        for wanted, test in tests:
            output, _ = test.communicate(timeout=150)
            good = test.returncode == 0 and "PASSED" in output and "SKIPPED" not in output
            failed |= not good
            print(f"{wanted}: {'passed' if good else output}")
        return 1 if failed else 0
    finally:
        for one in started:
            one.terminate()
        for one in started:
            try:
                one.wait(5)
            except subprocess.TimeoutExpired:
                one.kill()


if __name__ == "__main__":
    sys.exit(main())
