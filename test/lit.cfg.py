# The lit suite: which files are tests, what their RUN lines may say, and a clean world to run them in.
import glob
import importlib.util
import os
import shutil
import subprocess

import lit.formats

config.name = "accord"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".accel", ".dnn", ".test"]
config.excludes = ["answers", "Inputs", "unit", "bench", "README.md"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.accord_build_dir, "test")

# A test sees neither the user's home, nor his settings, nor his colours.
home = os.path.join(config.test_exec_root, "home")
os.makedirs(home, exist_ok=True)
path = [config.accord_bin_dir, config.llvm_tools_dir, "/usr/local/bin", "/usr/bin", "/bin"]
config.environment = {
    "HOME": home,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    "PATH": os.pathsep.join(path),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "TERM": "dumb",
    "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
}
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "ACCORD_MUTANT", "ACCORD_REACHED"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

source = config.accord_source_dir
config.substitutions += [
    ("%examples", os.path.join(source, "examples")),
    ("%catalog", os.path.join(source, "lib", "catalog")),
    ("%source", source),
    ("%build", config.accord_build_dir),
    ("%python", config.accord_python),
    ("%cc", config.accord_cc),
    ("%cxx", config.accord_cxx),
    ("%chromium", config.accord_chromium),
]

# `--param fast=1` leaves out the tests that say `REQUIRES: slow`.
if not lit_config.params.get("fast"):
    config.available_features.add("slow")
if shutil.which(config.accord_cc):
    config.available_features.add("cc")
if shutil.which("node"):
    config.available_features.add("node")
if shutil.which("cvc5"):
    config.available_features.add("cvc5")
if all(shutil.which(tool, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") for tool in ("slurmctld", "slurmd", "sbatch", "munged")):
    config.available_features.add("slurm")
if os.path.exists(os.path.join(config.accord_build_dir, "CPackConfig.cmake")) and shutil.which("dpkg-shlibdeps"):
    config.available_features.add("deb")
if subprocess.run([config.accord_python, "-c", "import mkdocs, pygments"], capture_output=True).returncode == 0:
    config.available_features.add("mkdocs")
if shutil.which("shellcheck"):
    config.available_features.add("shellcheck")
if config.accord_chromium and os.access(config.accord_chromium, os.X_OK):
    config.available_features.add("chromium")
if shutil.which("mpirun") and os.path.exists(os.path.join(config.accord_build_dir, "lib", "libaccord-mpi.so")):
    config.available_features.add("mpi")
if config.accord_sanitize:
    config.available_features.add("sanitizer")
if os.geteuid() == 0:
    config.available_features.add("root")
# The unit tests run containers of their own, as a normal user.
if all(shutil.which(one, path=os.environ["PATH"] + ":/usr/sbin") for one in ("podman", "runc", "busybox", "newuidmap")) and os.access(
        os.path.join(config.accord_bin_dir, "accord-unit"), os.X_OK):
    config.available_features.add("podman")
for tool in ("accord", "accord-opt", "accord-fuzz", "accord-lsp", "accord-unit", "emit-sample"):
    if os.access(os.path.join(config.accord_bin_dir, tool), os.X_OK):
        config.available_features.add(tool)

if shutil.which("node", path=os.pathsep.join(path)):
    config.available_features.add("node")
    # Packages of the editor extension, which scripts/vscode.sh brings.
    if os.path.isdir(os.path.join(source, "tools", "vscode", "node_modules")):
        config.available_features.add("vscode")

# The unit tests run on a server of their own.
if shutil.which("pg_virtualenv") and os.access(os.path.join(config.accord_bin_dir, "accord-unit"), os.X_OK):
    config.available_features.add("postgres")

if subprocess.run([config.accord_python, "-c", "import onnx"], capture_output=True).returncode == 0:
    config.available_features.add("onnx")

# The native module, which is built where the headers of Python are (python3-dev), and the wheel of ./quickstart python.
if os.path.exists(os.path.join(config.accord_build_dir, "lib", "python", "_native.abi3.so")):
    config.available_features.add("python-native")
if glob.glob(os.path.join(config.accord_build_dir, "python", "accord-*-abi3-*.whl")):
    config.available_features.add("python-wheel")

if subprocess.run([config.accord_python, "-c", "import yaml"], capture_output=True).returncode == 0:
    config.available_features.add("yaml")

# No test may hang the run; lit kills one that does where Debian's python3-psutil is there to do it.
if importlib.util.find_spec("psutil"):
    lit_config.maxIndividualTestTime = int(lit_config.params.get("timeout", "300"))
