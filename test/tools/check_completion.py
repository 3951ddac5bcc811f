"""Compares completions and the manual page with what --help says of each command.

usage: check_completion.py FOLDER
"""
import os
import re
import subprocess
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def run(*arguments):
    return subprocess.run(["accord", *arguments], capture_output=True, text=True, check=True).stdout


bash, zsh, fish, man = run("completion", "bash"), run("completion", "zsh"), run("completion", "fish"), run("man")
with open(os.path.join(folder, "accord.bash"), "w", encoding="utf-8") as file:
    file.write(bash)


def helped(path):
    """Commands and long options in the help of a command."""
    text = run(*path, "--help")
    commands, options = [], []
    part = ""
    for line in text.splitlines():
        if re.match(r"^[A-Z]+[A-Za-z ]*:", line):
            part = line.split(":")[0].lower()
        found = re.match(r"^ +([a-z][\w-]*)", line)
        if part == "subcommands" and found and re.match(r"^  [a-z]", line):
            commands.append(found.group(1))
        if part == "options" and re.match(r"^  +-", line):
            options += re.findall(r"(--[a-z][\w-]*)", line.strip().split("  ")[0])
    return commands, options


checked = 0
queue = [()]
while queue:
    path = queue.pop()
    commands, options = helped(path)
    words = re.search(rf"^    '{' '.join(path)}'\) words='([^']*)' ;;$", bash, re.M)
    assert words, path
    for word in commands + options:
        assert word in words.group(1).split(), (path, word)
        assert f"'{word}:" in zsh, (path, word)
        assert (f" -l {word[2:]} " in fish) if word.startswith("--") else (f" -a {word} " in fish), (path, word)
        assert word.replace("-", "\\-") in man or word in man, (path, word)
        checked += 1
    queue += [(*path, command) for command in commands]
assert checked > 200, checked

# What a person would see in bash after a tab.
for line, expected in (("accord comp", {"compile", "completion"}), ("accord import hug", {"huggingface"}),
                       ("accord compile a.dnn --tar", {"--target"})):
    script = (f"source {folder}/accord.bash; COMP_WORDS=({line}); COMP_CWORD=$(({len(line.split())} - 1)); _accord; "
              'printf "%s\\n" "${COMPREPLY[@]}"')
    found = set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=folder).stdout.split())
    assert expected <= found, (line, found)
print(checked, "words")
