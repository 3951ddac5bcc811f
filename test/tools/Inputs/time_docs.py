"""time_docs.py DOCUMENT: the section "From the command line" of docs/microarchitecture.md, followed literally in an empty folder.

Its first two blocks are core.accel and squares.s, the third is what the first command prints; every command has to succeed."""
import re
import shlex
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    section = file.read().split("\n# From the command line\n")[1].split("\n# ")[0]
machine, program, printed = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
for name, text in (("core.accel", machine), ("squares.s", program)):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
outside = re.sub(r"^```\n.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL)
commands = re.findall(r"^    (accord .*)$", outside, re.MULTILINE)
answers = [subprocess.run(shlex.split(command), capture_output=True, text=True, check=True).stdout for command in commands]
if answers[0] != printed:
    sys.exit("the first command prints:\n" + answers[0])
print(f"{len(commands)} commands")
