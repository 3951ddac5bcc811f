// Tiles of a header, and tables that can be searched and sorted.
const counted = (n, one, many = one + "s") => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
const splitUnit = text => { const at = text.lastIndexOf(" "); return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]; };
/// A number of the header. `share` (0 to 1) draws a bar below it.
function tile(label, [value, unit], note, share, color) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, unit.length > 5 ? " " : "", el("span", { class: "unit" }, unit)),
    share === undefined || !isFinite(share) ? null : el("div", { class: "bar", role: "meter", "aria-label": label, "aria-valuenow": (share * 100).toFixed(1), "aria-valuemin": 0, "aria-valuemax": 100 },
      el("i", { style: `width:${Math.min(100, share * 100)}%` + (color ? `;background:var(--${color})` : "") })),
    el("div", { class: "note" }, note || ""));
}
const mini = (share, color) => el("span", { class: "mini" }, el("i", { style: `width:${Math.max(0, Math.min(1, share || 0)) * 100}%;background:var(--${color || "accent"})` }));

/// `columns`: [heading, value of a row, what is shown of it (none: the value), class]. The first one names the row: what the search field `input`
/// looks for, and what a link says (`place`). `pick(row)` is called when a name is chosen. Shows at most 200 rows.
function searchTable(host, input, rows, columns, what, pick) {
  const limit = 200, body = el("tbody"), caption = el("caption", {}), nameOf = columns[0][1];
  let found = rows, sorted = null, up = false;
  const fill = () => {
    const text = input.value.toLowerCase();
    found = text ? rows.filter(r => columns.some(([, key, , cls]) => cls !== "n" && String(key(r)).toLowerCase().includes(text))) : rows.slice();
    if (sorted !== null) {
      const key = columns[sorted][1];
      found.sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    }
    caption.textContent = `${Math.min(limit, found.length)} of ${counted(rows.length, what)}${found.length > limit && text === "" ? "; search for the others, or take all as CSV" : ""}; select a heading to sort`;
    body.replaceChildren(...found.slice(0, limit).map(r => el("tr", {}, ...columns.map(([, key, show, cls], c) => {
      const shown = show ? show(r) : String(key(r)), parts = Array.isArray(shown) ? shown : [shown];
      return el("td", { class: cls }, ...(c === 0 && pick ? [el("button", { type: "button", class: "pickable", onclick: () => pick(r) }, ...parts)] : parts));
    }))));
  };
  host.append(caption, el("thead", {}, el("tr", {}, ...columns.map(([name, key, , cls], c) => el("th", { scope: "col", class: cls }, el("button", { type: "button", onclick: () => {
    up = sorted === c ? !up : cls !== "n";
    sorted = c;
    fill();
  } }, name))))), body);
  input.addEventListener("input", () => { place.set("filter", input.value); fill(); });
  fill();
  place.on("filter", text => { input.value = text || ""; fill(); });
  input.closest("p").hidden = rows.length < 8 && !input.value;
  offerExport(host, `${what}s`, () => [columns.map(([name]) => name), ...found.map(r => columns.map(([, key]) => key(r)))], () => host.querySelectorAll("tbody tr").length + Math.max(0, found.length - limit)).lastChild.remove();
}
