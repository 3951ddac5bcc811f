"""expected_times.py prune.json SPEEDUP: each 2:4 product is so much faster than dense, or as fast as the core can."""
import json
import sys

speedup, found = float(sys.argv[2]), 0
for layer in json.load(open(sys.argv[1]))["step"]["layers"]:
    for option in layer["options"]:
        for product in option["products"]:
            expected = max(product["ideal_s"], product["dense_s"] / speedup)
            assert abs(product["expected_s"] / expected - 1) < 1e-6, (layer["name"], product)
            found += 1
print(f"{found} products {speedup} times as fast")
