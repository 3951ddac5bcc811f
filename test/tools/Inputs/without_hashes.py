"""A mine.json without the hashes of its certificate, which names the sources."""
import json
import sys

document = json.load(open(sys.argv[1], encoding="utf-8"))
del document["certificate"]
print(json.dumps(document, indent=1))
