#!/usr/bin/python3
"""Builds the documentation as a site with search: scripts/site/site.py [-o build/site] [--check]

The pages are the Markdown files of this repository that are reachable from README.md, in the same folders. Files of the
source that a page points to are copied beside it. MkDocs (Debian: mkdocs) makes the site; examples of `.accel` and `.dnn`
are coloured with the words of the editors' grammar (see highlight.py). --check builds into a temporary folder and fails
at a link that leads nowhere."""
import argparse
import logging
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*```")

# The order in which people read: what they want first. Pages that no section names stand in the last one.
SECTIONS = [
    ("Start", ["README.md", "examples/README.md"]),
    ("From a task", ["docs/tutorials/*.md"]),
    ("Describe", ["docs/language.md", "docs/microarchitecture.md", "docs/importers.md", "docs/models.md", "docs/python.md", "docs/editors.md"]),
    ("Plan a training", ["docs/placement.md", "docs/latency-model.md", "docs/sparsity.md", "docs/ensembles.md",
                         "docs/scheduling.md", "docs/partitioning.md", "docs/comparing.md", "docs/dlrm.md"]),
    ("Find a machine", ["docs/mining.md"]),
    ("Share a cluster", ["docs/jobs.md", "docs/learning.md", "docs/operating.md", "docs/goodput.md"]),
    ("Costs and accuracy", ["docs/cost-models.md", "docs/operations.md", "docs/power.md", "docs/memory.md", "docs/accuracy.md",
                            "docs/published.md", "docs/steps.md", "docs/measured-steps.md", "docs/performance.md"]),
    ("Trust", ["docs/answers.md", "docs/scheduling-proofs.md"]),
    ("Look up", ["docs/errors.md", "docs/schema/*.md", "CHANGELOG.md"]),
    ("Change Accord", ["CONTRIBUTING.md", "docs/architecture.md", "docs/extending.md", "docs/decisions/*.md", "*"]),
]


def targets(page):
    """Each link of a page to a file of the repository: where it points to, without its anchor. Code is passed over."""
    inside = False
    for line in page.read_text().splitlines():
        if FENCE.match(line):
            inside = not inside
        if inside or line.startswith("    "):
            continue
        for _, link, _ in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", link) or link.startswith("#"):
                continue
            yield link


def resolve(page, link):
    """The file of the repository that a link means; a folder means its README."""
    file = pathlib.Path(os.path.normpath(page.parent / link.split("#")[0]))
    return file / "README.md" if (file / "README.md").is_file() else file


def reachable(start):
    """Pages that are reachable from `start`, files that they point to, and links that lead nowhere."""
    pages, files, broken, todo = [], set(), [], [start]
    while todo:
        page = todo.pop(0)
        if page in pages:
            continue
        pages.append(page)
        for link in targets(page):
            file = resolve(page, link)
            if not file.is_file() or ROOT not in file.parents:
                broken.append(f"{page.relative_to(ROOT)}: '{link}' leads nowhere")
            elif file.suffix == ".md":
                todo.append(file)
            else:
                files.add(file)
    return pages, files, broken


def title(page):
    for line in page.read_text().splitlines():
        if line.startswith("# "):
            return line[2:].replace("`", "").strip()
    return page.stem


def navigation(pages):
    left = {page.relative_to(ROOT): page for page in pages}
    sections = []
    for name, patterns in SECTIONS:
        entries = []
        for pattern in patterns:
            for path in sorted(path for path in left if pattern == "*" or path.match(pattern)):
                if "/" not in pattern and pattern != "*" and len(path.parts) > 1:
                    continue
                entries.append({title(left.pop(path)): str(path)})
        if entries:
            sections.append({name: entries})
    return sections


def copy(page, source):
    """A page as MkDocs wants it: links to folders lead to their README, indented code of the two languages says which."""
    target = source / page.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)

    def lead(match):
        link = match[2]
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return match[0]
        file = resolve(page, link)
        anchor = "#" + link.split("#")[1] if "#" in link else ""
        return match[1] + os.path.relpath(file, page.parent) + anchor + match[3]

    target.write_text(LINK.sub(lead, page.read_text()))


def build(output, source, pages, files):
    for page in pages:
        copy(page, source)
    for file in files:
        target = source / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import highlight
    highlight.register()
    shutil.copyfile(pathlib.Path(__file__).parent / "site.css", source / "site.css")
    (source / "colours.css").write_text(highlight.style())
    from mkdocs.commands.build import build as mkdocs_build
    from mkdocs.config import load_config
    configuration = source.parent / "mkdocs.yml"
    configuration.write_text("site_name: Accord\n")
    mkdocs_build(load_config(
        str(configuration), docs_dir=str(source), site_dir=str(output), nav=navigation(pages), theme="readthedocs",
        use_directory_urls=False, plugins=["search"], extra_css=["colours.css", "site.css"],
        markdown_extensions=["tables", "fenced_code", "toc", {"codehilite": {"guess_lang": False}}]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "build" / "site", help="folder of the site")
    parser.add_argument("--check", action="store_true", help="only say whether it can be built and every link leads somewhere")
    arguments = parser.parse_args()
    pages, files, broken = reachable(ROOT / "README.md")
    for line in broken:
        print(line, file=sys.stderr)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            output = scratch / "site" if arguments.check else arguments.output.resolve()
            source = scratch / "source"
            source.mkdir()
            build(output, source, pages, files)
            print(f"{len(pages)} pages" + ("" if arguments.check else f" in {output / 'index.html'}"))
    except ModuleNotFoundError as missing:
        sys.exit(f"the module '{missing.name}' is missing (Debian: mkdocs python3-pygments)")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
