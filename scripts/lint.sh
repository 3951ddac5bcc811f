#!/usr/bin/env bash
# clang-tidy over the repository; see lint.py beside this file.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/lint.py" "$@"
