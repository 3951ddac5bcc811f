"""repeat.py PROGRAM EXAMPLES OUT ROUNDS: the same commands in one process again and again; says how its memory grows."""

import subprocess
import sys

program, examples, out, rounds = *sys.argv[1:4], int(sys.argv[4])
COMMANDS = [
    ["compile", f"{examples}/03-own-model/own_cell.dnn", "-o", f"{out}/own"],
    ["estimate", f"{examples}/02-own-machine/resnet50.dnn"],
    ["compile", f"{examples}/05-constraints-that-fail/too_small.dnn", "-o", f"{out}/small"],
    ["mine", f"{examples}/08-mine/bert.dnn", "--gap", "5%", "-o", f"{out}/mined"],
    ["verify", f"{out}/own"],
    ["estimate", "nothing.dnn"],
]
STATUS = [0, 0, 2, 0, 0, 1]

with subprocess.Popen([program, "session"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
    resident = []
    for _ in range(rounds):
        for command, expected in zip(COMMANDS, STATUS):
            process.stdin.write(("\x1f".join([".", *command]) + "\n").encode())
            process.stdin.flush()
            status, output, messages, kibibytes = (int(one) for one in process.stdout.readline().split())
            process.stdout.read(output + messages)
            if status != expected:
                print(f"accord {' '.join(command)}: exit status {status}")
        resident.append(kibibytes)
    process.stdin.close()
    print(f"{rounds * len(COMMANDS)} commands, exit status {process.wait()}")
# The allocator keeps what the first rounds needed; later ones need no more.
growth = (resident[-1] - resident[len(resident) // 4]) / 1024
print(f"memory: {'stays' if growth < 8 else 'grows'} ({resident[0]} to {resident[-1]} KiB)")
