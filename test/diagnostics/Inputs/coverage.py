# Lists the error codes that no case of a folder expects; fails if there is one.
import argparse
import glob
import os
import re
import sys

# A defect of Accord itself: no input is known to cause it.
WITHOUT_INPUT = {"A0806"}

# Of problems and answers that commands check before they write them, and whose files are read only
# if they agree with each other: tests of the checks alone meet them.
BY_UNIT_TESTS = {"A0940", "A0943", "A0944", "A0950", "A0951", "A0952", "A1104", "A1105", "A1106", "A1208"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--unit", required=True)
    options = parser.parse_args()

    def read(path):
        with open(path, encoding="utf-8") as text:
            return text.read()

    codes = []
    for path in sorted(glob.glob(os.path.join(options.table, "*.def"))):
        codes += re.findall(r"ACCORD_ERROR\((A\d{4}), (\w+)", read(path))
    expected = set()
    for path in glob.glob(os.path.join(options.cases, "*.*")):
        if os.path.isfile(path):
            expected |= set(re.findall(r"(?:error|warning)\[(A\d{4})\]", read(path)))
    number_of = {name: number for number, name in codes}
    for path in glob.glob(os.path.join(options.unit, "**", "*.*"), recursive=True):
        text = read(path)
        named = {number_of.get(name) for name in re.findall(r"Code::(\w+)", text)}
        expected |= BY_UNIT_TESTS & (named | set(re.findall(r'"(A\d{4})"', text)))
    missing = [f"{number} {name}" for number, name in codes if number not in expected | WITHOUT_INPUT]
    print("\n".join(missing) or f"all {len(codes)} codes have a case")
    return 1 if missing or not codes else 0


if __name__ == "__main__":
    sys.exit(main())
