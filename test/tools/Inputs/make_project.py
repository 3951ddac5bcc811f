#!/usr/bin/env python3
"""make_project.py JOBS [zero]: a project of PSPLIB's form with as many jobs, each in the way of others; with `zero` they take no
time. The same on every machine."""
import sys

jobs, zero = int(sys.argv[1]), sys.argv[2:] == ["zero"]
state = 1


def below(n):
    global state
    state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
    return (state >> 33) % n


print(f"projects : 1\njobs (incl. supersource/sink ): {jobs}\nRESOURCES\n  - renewable : 3 R\nPRECEDENCE RELATIONS:")
print("jobnr. #modes #successors successors")
for job in range(1, jobs + 1):
    ahead = min(30, jobs - job)
    successors = sorted({job + 1 + below(ahead) for _ in range(1 + below(3))}) if ahead else []
    print(job, 1, len(successors), *successors)
print("REQUESTS/DURATIONS:\njobnr. mode duration R 1 R 2 R 3")
for job in range(1, jobs + 1):
    print(job, 1, 0 if zero else 1 + below(10), *(below(2) * below(8) for _ in range(3)))
print("RESOURCEAVAILABILITIES:\nR 1 R 2 R 3\n10 10 10")
