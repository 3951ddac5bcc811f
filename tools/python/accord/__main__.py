"""The program `accord` of this package: python -m accord compile gpt2.dnn."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Becomes the program, with the arguments of this one."""
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bin", "accord")
    if not os.access(program, os.X_OK):
        sys.exit(f"accord: there is no program '{program}': this package was not installed from a wheel")
    os.execv(program, ["accord", *sys.argv[1:]])


if __name__ == "__main__":
    main()
