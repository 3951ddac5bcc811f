"""cells.py FILE [--write]: runs the code cells of a notebook (.ipynb), or the Python blocks of a page (.md), in their order.

Of a notebook, what each cell prints and the value of its last line are compared with what the file has; --write puts them
there. It needs no Jupyter. Cells run in the folder of the file, those of a page in a folder of examples/.
"""
import ast
import contextlib
import io
import json
import os
import re
import sys
import traceback


def run(code, names, place):
    """What the cell prints, and the text of its last value or None."""
    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    return printed.getvalue(), None if value is None else repr(value)


def outputs(printed, value, count):
    found = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)})
    if value is not None:
        data = {"text/plain": value.splitlines(True)}
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def notebook(path, write):
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    names, count, wrong = {"__name__": "__main__"}, 0, 0
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        made = outputs(*run("".join(cell["source"]), names, f"cell {count}"), count)
        if made != cell["outputs"] and not write:
            wrong += 1
            print(f"cell {count}: found {json.dumps(made, indent=1)}, the file has {json.dumps(cell['outputs'], indent=1)}")
        cell["outputs"], cell["execution_count"] = made, count
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(book, indent=1, ensure_ascii=False) + "\n")
    print(f"{count} cells, {wrong} have other outputs")
    return 1 if wrong else 0


def page(path):
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    names = {"__name__": "__main__"}
    for count, block in enumerate(blocks, 1):
        try:
            run(block, names, f"block {count}")
        except Exception:
            traceback.print_exc()
            print(f"block {count} of {path} fails:\n{block}")
            return 1
    print(f"{len(blocks)} blocks run")
    return 0


def main():
    path = os.path.abspath(sys.argv[1])
    if path.endswith(".md"):
        os.chdir(sys.argv[2])
        return page(path)
    os.chdir(os.path.dirname(path))
    return notebook(path, "--write" in sys.argv)


sys.exit(main())
