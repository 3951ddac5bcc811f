"""curves.py FOLDER: runs of four applications with batches from 16 to 128, whose gradient noise grows with the batch."""
import os
import sys

for name, noise, growth in (("alpha", 2, .4), ("beta", 6, .5), ("gamma", 3, .6), ("delta", 9, .5)):
    os.makedirs(os.path.join(sys.argv[1], name))
    for batch in (16, 32, 64, 128):
        with open(os.path.join(sys.argv[1], name, f"validation-{batch}.csv"), "w", encoding="utf-8") as file:
            print("progress,iteration,metric,grad_sqr,grad_var", file=file)
            progress = step = 0
            for epoch in range(1, 21):
                variance = noise * epoch / 20 * (batch / 16) ** growth
                while progress < 50 * epoch:
                    progress, step = progress + (variance + 1) / (variance * 16 / batch + 1), step + 1
                print(f"{progress!r},{step},{1 - 100 / (100 + progress)!r},1,{variance!r}", file=file)
