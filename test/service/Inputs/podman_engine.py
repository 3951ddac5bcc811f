"""podman_engine.py PROGRAM FILTER...: unit tests of PROGRAM with containers, or with MANIFEST.yaml for FILTER a
Pod of the Job in a manifest, by podman play kube.

Podman runs as a normal user, with storage of its own that is removed at the end: as the user who asks, or if that is
root as one who has numbers in /etc/subuid and may read PROGRAM. Where there is none, this says so in one line that
begins with "left out". The image is busybox in an empty root, made without a network.
"""
import concurrent.futures
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

SECONDS = 55
os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
IMAGE = "localhost/accord-busybox"


def normal_user(program):
    """Name and folder for those who may read the program; None: the one who asks."""
    if os.geteuid() != 0:
        return None
    with open("/etc/subuid", encoding="utf-8") as file:
        names = [line.split(":")[0] for line in file]
    for name in names:
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        if subprocess.run(["runuser", "-u", name, "--", "test", "-x", program], check=False).returncode == 0:
            return name
    print("left out: podman needs a normal user, and no name in /etc/subuid may run the tests")
    sys.exit(0)


class Podman:
    def __init__(self, program):
        self.user = normal_user(program)
        # Short: paths of sockets are.
        self.folder = tempfile.mkdtemp(prefix="accord-podman-", dir="/tmp")
        os.makedirs(os.path.join(self.folder, "run"))
        with open(os.path.join(self.folder, "storage.conf"), "w", encoding="utf-8") as file:
            file.write(f'[storage]\ndriver = "vfs"\nrunroot = "{self.folder}/run"\ngraphroot = "{self.folder}/images"\n')
        image = os.path.join(self.folder, "image")
        os.makedirs(os.path.join(image, "root", "bin"))
        os.makedirs(os.path.join(image, "root", "tmp"))
        shutil.copy(shutil.which("busybox"), os.path.join(image, "root", "bin", "busybox"))
        for name in ("sh", "sleep", "echo", "touch", "printf", "env"):
            os.symlink("busybox", os.path.join(image, "root", "bin", name))
        with open(os.path.join(image, "root", "bin", "torchrun"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "torchrun $*, tensor $ACCORD_TENSOR_PARALLEL, rank $NODE_RANK"\n')
        os.chmod(os.path.join(image, "root", "bin", "torchrun"), 0o755)
        with open(os.path.join(image, "Containerfile"), "w", encoding="utf-8") as file:
            file.write("FROM scratch\nCOPY root /\nENV PATH=/bin\n")
        if self.user:
            subprocess.run(["chown", "-R", self.user, self.folder], check=True)

    def start(self, words, **variables):
        """A process in a session of its own."""
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.folder, "TMPDIR": self.folder,
                       "XDG_RUNTIME_DIR": os.path.join(self.folder, "run"), "LC_ALL": "C.UTF-8",
                       "CONTAINERS_STORAGE_CONF": os.path.join(self.folder, "storage.conf"), **variables}
        as_user = ["runuser", "-u", self.user, "--"] if self.user else []
        return subprocess.Popen(as_user + words, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, *words, seconds=SECONDS, **variables):
        """Exit status and output."""
        process = self.start(list(words), **variables)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return 124, output
        return process.returncode, output

    def build(self):
        status, said = self.run("podman", "--runtime=runc", "build", "--quiet", "--network=none", "--tag", IMAGE,
                                os.path.join(self.folder, "image"))
        if status:
            print(f"left out: podman cannot build an image here: {said.strip().splitlines()[-1]}")
            sys.exit(0)
        status, said = self.run("podman", "--runtime=runc", "run", "--rm", "--network=none", "--ulimit=host", IMAGE, "true")
        if status != 127 and status != 0:  # the image has no program "true"
            print(f"left out: podman cannot run a container here: {said.strip().splitlines()[-1]}")
            sys.exit(0)

    def close(self):
        self.run("podman", "--runtime=runc", "pod", "rm", "--all", "--force", "--time=0", seconds=20)
        self.run("podman", "--runtime=runc", "rm", "--all", "--force", "--time=0", seconds=20)
        self.run("podman", "unshare", "rm", "-rf", os.path.join(self.folder, "images"), seconds=20)
        # The process that keeps the user's namespace.
        try:
            with open(os.path.join(self.folder, "run", "libpod", "tmp", "pause.pid"), encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


def unit_tests(podman, program, filters):
    """Each filter is a process; they run at the same time."""
    def one(text):
        return text, *podman.run(program, f"--gtest_filter={text}", ACCORD_TEST_PODMAN=IMAGE)

    failed = False
    with concurrent.futures.ThreadPoolExecutor(len(filters)) as pool:
        for text, status, output in pool.map(one, filters):
            passed = status == 0 and "[  PASSED  ]" in output and "[  PASSED  ] 0 tests" not in output
            print(f"{text}: {'passed' if passed else f'failed ({status})'}")
            failed |= not passed
            if not passed:
                print(output)
    return failed


def play(podman, manifest):
    """The template of a Job as a Pod, which is what this Podman knows; Kubernetes adds the annotation."""
    import yaml
    with open(manifest, encoding="utf-8") as file:
        job = next(one for one in yaml.safe_load_all(file) if one["kind"] == "Job")
    pod = {"apiVersion": "v1", "kind": "Pod", **job["spec"]["template"]}
    pod["metadata"].update({"name": "emitted", "annotations": {"batch.kubernetes.io/job-completion-index": "3"}})
    for container in pod["spec"]["containers"]:
        # Kubernetes takes $$ for $; this Podman takes it as it is. There is no device, and the guard is told so.
        for key in ("command", "args"):
            container[key] = [word.replace("$$", "$") for word in container.get(key, [])]
        container.setdefault("env", []).append({"name": "ACCORD_GUARD", "value": "off"})
    path = os.path.join(podman.folder, "pod.yaml")
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(pod, file)
    os.chmod(path, 0o644)
    status, said = podman.run("podman", "--runtime=runc", "play", "kube", "--network=none", path)
    if status:
        print(f"podman play kube: {status}: {said}")
        return True
    name = "emitted-" + pod["spec"]["containers"][0]["name"]
    podman.run("podman", "wait", name)
    status, said = podman.run("podman", "logs", name)
    print(said, end="")
    return status != 0


def main():
    program, filters = os.path.abspath(sys.argv[1]), sys.argv[2:]
    podman = Podman(program)
    try:
        podman.build()
        sys.exit(play(podman, filters[0]) if filters[0].endswith(".yaml") else unit_tests(podman, program, filters))
    finally:
        podman.close()


main()
