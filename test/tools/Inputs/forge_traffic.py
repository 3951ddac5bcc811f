"""forge_traffic.py FOLDER KIND FACTOR: in the certificate of a plan for a cluster the first flow of its kind has so many times its
bytes; where there is none, the first flow is of that kind. The manifest is taken away: it would notice."""
import json
import os
import sys

folder, kind, factor = sys.argv[1], sys.argv[2], float(sys.argv[3])
path = os.path.join(folder, "certificate/placement.json")
with open(path, encoding="utf-8") as file:
    certificate = json.load(file)
flows = certificate["traffic"]["flows"]
flow = next((f for f in flows if f[1] == kind), None) or flows[0]
flow[1], flow[3] = kind, flow[3] * factor
with open(path, "w", encoding="utf-8") as file:
    json.dump(certificate, file, indent=2)
os.remove(os.path.join(folder, "manifest.json"))
