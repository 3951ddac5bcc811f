#!/usr/bin/env python3
"""with_data.py FOLDER PATTERN COMMAND...: runs the command on the files of shared data that match, which lie beside the
checkout (../shared/data, or a folder further up) or in $ACCORD_DATA; without them says that they are not there."""
import glob
import os
import subprocess
import sys

folder, pattern, *command = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
places = [os.environ.get("ACCORD_DATA", "")]
while here != os.path.dirname(here):
    here = os.path.dirname(here)
    places.append(os.path.join(here, "shared", "data"))
files = next((found for place in places if place
              for found in [sorted(glob.glob(os.path.join(place, folder, pattern), recursive=True))] if found), [])
if not files:
    print(f"not there: 0 files of {folder}")
    sys.exit(0)
sys.exit(subprocess.run(command + files).returncode)
