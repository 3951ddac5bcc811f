"""Answers in one line, and tables in HTML: what a person looks for first."""

import html
from typing import Any, Dict, List, Mapping, Optional

__all__ = ["bytes_text", "line", "table", "text", "time_text"]

MAX_ROWS = 20
MAX_LINES = 200


def scaled(value: float, unit: str, steps: "List[tuple[float, str]]") -> str:
    for factor, prefix in steps:
        if abs(value) >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def time_text(seconds: float) -> str:
    """2.717 s, 140.4 ms, 3.1 h."""
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.4g} days"
    if seconds >= 7200:
        return f"{seconds / 3600:.4g} h"
    return scaled(seconds, "s", [(1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")])


def bytes_text(size: float) -> str:
    """57.55 GiB."""
    return scaled(size, "B", [(2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki")])


def share(value: float) -> str:
    return f"{100 * value:.3g} %"


def line(one: Mapping[str, Any]) -> str:
    """Name, status, step time with its interval, memory, bottleneck and gap, as far as the document has them."""
    name = _name(one)
    facts = [str(one.get("status", "")), _step(one), _memory(one), _bottleneck(one), _gap(one), _size(one)]
    text = ", ".join(part for part in facts if part)
    return f"{name}: {text}" if name else text


def _name(one: Mapping[str, Any]) -> str:
    machine = one.get("machine")
    cluster = one.get("cluster")
    where = machine.get("name") if isinstance(machine, dict) else machine
    where = cluster.get("name") if isinstance(cluster, dict) else cluster or where
    what = one.get("job") or one.get("model") or one.get("training") or ""
    if not isinstance(what, str):
        what = ""
    return " on ".join(str(part) for part in (what, where) if part)


def _step(one: Mapping[str, Any]) -> str:
    totals = one.get("totals")
    if isinstance(totals, dict) and isinstance(totals.get("time_s"), (int, float)):
        return f"{time_text(totals['time_s'])} one after the other"
    if not isinstance(one.get("step_time_s"), (int, float)):
        return ""
    text = f"step {time_text(one['step_time_s'])}"
    interval = one.get("step_time_estimate")
    if isinstance(interval, dict):
        text += f" ({time_text(interval['low_s'])} .. {time_text(interval['high_s'])})"
    return text


def _memory(one: Mapping[str, Any]) -> str:
    memory = one.get("memory")
    if isinstance(memory, dict) and "peak_bytes" in memory and "capacity_bytes" in memory:
        return f"{bytes_text(memory['peak_bytes'])} of {bytes_text(memory['capacity_bytes'])}"
    listed = one.get("stages")  # of the comparison of a cluster it is a number
    stages = [stage.get("memory_bytes") for stage in listed if isinstance(stage, dict)] if isinstance(listed, list) else []
    sizes = [size for size in stages if isinstance(size, (int, float))]
    return f"up to {bytes_text(max(sizes))} a device" if sizes else ""


def _bottleneck(one: Mapping[str, Any]) -> str:
    for entry in one.get("bottlenecks") or []:
        if isinstance(entry, dict) and "resource" in entry:
            return f"bottleneck {entry['resource']}"
    bound = one.get("bound")
    proof = bound.get("proof") if isinstance(bound, dict) else None
    if isinstance(proof, str) and len(proof) < 40 and ":" not in proof:  # a resource, not a sentence
        return f"bound by {proof}"
    return ""


def _gap(one: Mapping[str, Any]) -> str:
    gap = one.get("gap")
    return f"gap {share(gap)}" if isinstance(gap, (int, float)) else ""


def _size(one: Mapping[str, Any]) -> str:
    """Of documents that are mainly a table."""
    for name in ("operations", "entries", "checked", "jobs", "trainings", "policies", "rows"):
        value = one.get(name)
        if isinstance(value, list):
            return f"{len(value)} {name}"
    text = one.get("text")
    return f"{len(text.splitlines())} lines" if isinstance(text, str) else ""


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and len(value) <= 8 and all(isinstance(one, (int, float, str)) for one in value):
        return ", ".join(cell(one) for one in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return "" if value is None else str(value)


def text(held: str) -> str:
    """The first lines of a text in HTML."""
    lines = held.splitlines()
    more = f"<p>… {len(lines) - MAX_LINES} more lines</p>" if len(lines) > MAX_LINES else ""
    return f"<pre>{html.escape(chr(10).join(lines[:MAX_LINES]))}</pre>{more}"


def table(rows: List[Dict[str, Any]], columns: Optional[List[str]] = None) -> str:
    """The first rows of a table in HTML."""
    shown = rows[:MAX_ROWS]
    names = columns or list(dict.fromkeys(name for row in shown for name in row))[:12]
    if not names:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(row.get(name)))}</td>" for name in names) + "</tr>" for row in shown
    )
    more = f"<p>… {len(rows) - len(shown)} more rows</p>" if len(rows) > len(shown) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
