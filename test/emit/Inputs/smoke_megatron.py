"""smoke_megatron.py SMOKE.py SCRIPT: runs the check of a model with stand-ins for torch and Megatron-LM.

The stand-ins keep what they are asked for; the model has the parameters that megatron_parameters.py counts from the arguments that the
check gives, once as they are and once with a block more.
"""
import ast
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
TORCH = """
import contextlib
class distributed:
    @staticmethod
    def init_process_group(backend, rank, world_size):
        assert (backend, rank, world_size) == ("gloo", 0, 1)
        print("process group")
@contextlib.contextmanager
def device(name):
    print("device", name)
    yield
"""
PARALLEL = """
def initialize_model_parallel(tensor, pipeline):
    assert (tensor, pipeline) == (1, 1)
"""
ENUMS = """
class ModelType:
    encoder_or_decoder, encoder_and_decoder = 1, 2
"""
ARGUMENTS = """
import os, sys
import megatron_parameters
class Args:
    pass
def parse_args():
    assert os.environ["RANK"] == "0" and os.environ["WORLD_SIZE"] == "1"
    args = Args()
    args.script, words = sys.argv[0], sys.argv[1:]
    args.flags = megatron_parameters.Flags()
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("--"):
            args.flags[word] = following if not following.startswith("--") else ""
    return args
def validate_args(args):
    assert not any("parallel" in flag for flag in args.flags)
"""
GLOBALS = """
ARGS = None
def set_args(args):
    global ARGS
    ARGS = args
"""
PROGRAM = """
import os
import megatron_parameters
from megatron.training import global_vars
class Parameter:
    def __init__(self, number):
        self.number = number
    def numel(self):
        return self.number
class Model:
    def parameters(self):
        args = global_vars.ARGS
        flags = megatron_parameters.Flags(args.flags)
        assert int(flags["--vocab-size"]) == args.padded_vocab_size and flags["--make-vocab-size-divisible-by"] == "1"
        if os.environ.get("MORE"):
            flags["--num-layers"] = str(int(flags["--num-layers"]) + 1)
        yield Parameter(megatron_parameters.parameters_of(args.script, flags) - 5)
        yield Parameter(5)
def model_provider():
    return Model()
"""


def main():
    smoke, script = sys.argv[1:]
    with open(smoke, encoding="utf8") as file:
        ast.parse(file.read())
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {"torch.py": TORCH, "megatron/core/parallel_state.py": PARALLEL, "megatron/core/enums.py": ENUMS, "megatron/training/arguments.py": ARGUMENTS,
                           "megatron/training/global_vars.py": GLOBALS, script: PROGRAM, "megatron/__init__.py": "",
                           "megatron/core/__init__.py": "", "megatron/training/__init__.py": ""}.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf8") as file:
                file.write(text)
        for label, variables in (("as planned", {"MEGATRON": folder}), ("a block more", {"MEGATRON": folder, "MORE": "1"}), ("nowhere", {})):
            done = subprocess.run([sys.executable, "-B", smoke], env={"PATH": os.environ["PATH"], "PYTHONPATH": here, **variables},
                                  capture_output=True, text=True, timeout=60, check=False)
            print(f"{label}: {done.returncode} {' '.join((done.stdout + done.stderr).split())}")


main()
