"""latency_formats.py FOLDER CC COUNT: C, Python and JavaScript of a latency model at COUNT random configurations."""
import json
import random
import re
import subprocess
import sys

folder, cc, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, folder)
import latency_model as model  # noqa: E402

draw = random.Random(7)


def value(argument):
    """One of the allowed numbers, the plan's or one around it; now and then one that is refused."""
    if argument.allowed:
        return draw.choice(argument.allowed + ((3,) if draw.random() < 0.05 else ()))
    if argument.least == argument.most:
        return argument.default
    if argument.integer:
        return max(1, int(argument.default * 2 ** draw.randint(-3, 5)) + (draw.random() < 0.1))
    return argument.default * 2 ** draw.uniform(-4, 4)


names = [a.name for a in model.ARGUMENTS]
rows = [[value(a) for a in model.ARGUMENTS] for _ in range(count)]
header = open(f"{folder}/latency_model.h", encoding="utf-8").read()
prefix = re.search(r"static inline int (\w+)_evaluate\(", header).group(1)
cases = "".join("{" + ", ".join(repr(v) for v in row) + "},\n" for row in rows)
with open(f"{folder}/formats.c", "w", encoding="utf-8") as file:
    file.write(f'''#include <stdio.h>
#include "latency_model.h"
static const {prefix}_arguments all[] = {{ {cases} }};
int main(void) {{
  for (int i = 0; i < {count}; ++i) {{
    {prefix}_result r;
    int status = {prefix}_evaluate(&all[i], &r);
    printf("%d %.17g %.17g %.17g\\n", status, r.step_time_s, r.memory_bytes, r.flops);
  }}
  return 0;
}}
''')
subprocess.run([cc, "-std=c99", "-O1", "-I", folder, f"{folder}/formats.c", "-o", f"{folder}/formats"], check=True)
inC = [line.split() for line in subprocess.run([f"{folder}/formats"], check=True, capture_output=True, text=True).stdout.splitlines()]
script = (f"const m = require({json.dumps(folder + '/latency_model.js')}); const names = {json.dumps(names)};"
          f"console.log(JSON.stringify({json.dumps(rows)}.map(r => m.evaluate(Object.fromEntries(r.map((v, i) => [names[i], v]))))))")
inScript = json.loads(subprocess.run(["node", "-e", script], check=True, capture_output=True, text=True).stdout)
refused, wrong = 0, []
for row, c, js in zip(rows, inC, inScript):
    try:
        py = model.evaluate(**dict(zip(names, row)))
    except ValueError:
        py = None
    if py is None:
        refused += 1
        if int(c[0]) == 0 or js["status"] != int(c[0]):
            wrong.append(row)
        continue
    same = int(c[0]) == 0 and js["status"] == 0
    for expected, a, b in zip(py, map(float, c[1:]), (js["step_time_s"], js["memory_bytes"], js["flops"])) if same else ():
        same = same and expected == a and abs(expected - b) <= 1e-12 * abs(expected)
    if not same:
        wrong.append(row)
print(f"{count} configurations, {refused} of them refused by all:", f"differ at {wrong[:3]}" if wrong else "C, Python and JavaScript agree")
