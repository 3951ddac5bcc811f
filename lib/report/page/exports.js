// Each chart as a table (CSV) and as a picture (PNG).
function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
/// Rows of cells; a text that could be more than one cell, or a formula of a spreadsheet, is quoted.
function csvOf(rows) {
  const cell = v => { const text = String(v ?? ""); return typeof v === "number" ? text : /^[=+@\t-]/.test(text) ? `"'${text.replace(/"/g, '""')}"` : /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text; };
  return rows.map(row => row.map(cell).join(",") + "\n").join("");
}
/// A canvas of an SVG element, as large as it is shown, with the colours that it has on the page.
function pictureOfSvg(root, then) {
  const copy = root.cloneNode(true), box = root.getBoundingClientRect(), scale = 2;
  const from = [root, ...root.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((e, i) => {
    const style = getComputedStyle(e);
    for (const name of ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "paint-order", "font-size", "font-family", "font-weight", "text-anchor", "opacity"]) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  set(copy, { xmlns: "http://www.w3.org/2000/svg", width: box.width, height: box.height });
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", { width: box.width * scale, height: box.height * scale }), g = canvas.getContext("2d");
    g.fillStyle = cssColor("card");
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.drawImage(image, 0, 0, canvas.width, canvas.height);
    then(canvas);
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}
/// Bars of elements (`.kind` and `.bars`) painted: a line of text and its coloured parts.
function pictureOfBars(host) {
  const scale = 2, left = 190, width = 900, row = 24, bars = [...host.querySelectorAll(".stack, .of, .track")], canvas = el("canvas", { width: width * scale, height: (bars.length * row + 16) * scale }), g = canvas.getContext("2d");
  g.scale(scale, scale);
  g.fillStyle = cssColor("card");
  g.fillRect(0, 0, width, canvas.height);
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  bars.forEach((bar, i) => {
    const name = bar.previousElementSibling, amount = bar.nextElementSibling, y = 8 + i * row, whole = bar.getBoundingClientRect();
    g.fillStyle = cssColor("ink");
    g.fillText(name ? (bar.dataset.name || name.textContent).slice(0, 28) : "", 8, y + 10);
    g.fillStyle = cssColor("quiet");
    g.fillText(amount ? amount.textContent : "", width - 190, y + 10);
    for (const part of bar.querySelectorAll("i, b")) {
      const box = part.getBoundingClientRect(), to = (width - left - 200) / (whole.width || 1);
      g.fillStyle = getComputedStyle(part).backgroundColor;
      g.fillRect(left + (box.left - whole.left) * to, y + 2 + ((box.top - whole.top) / (whole.height || 1)) * 16, Math.max(0.5, box.width * to), Math.max(1, (box.height / (whole.height || 1)) * 16));
    }
  });
  return canvas;
}
/// Buttons below a chart. `rows()`: the table, its first row the headings; the picture is of what `host` shows. `marks`: what of
/// the chart has a row each, as a selector or, of a canvas, a function that counts.
function offerExport(host, name, rows, marks) {
  const file = name.toLowerCase().replace(/[^a-z0-9]+/g, "-"), button = (text, label, action) => el("button", { type: "button", "aria-label": `${name} as ${label}`, onclick: action }, text);
  const png = canvas => canvas.toBlob(blob => download(file + ".png", blob));
  const picture = () => {
    const shown = host.matches("canvas") ? host : host.querySelector("canvas, svg");
    if (!shown) png(pictureOfBars(host)); else if (shown.matches("canvas")) png(shown); else pictureOfSvg(shown, png);
  };
  const bar = el("div", { class: "exports" }, button("CSV", "a table", () => download(file + ".csv", new Blob([csvOf(rows())], { type: "text/csv" }))), button("PNG", "a picture", picture));
  bar.chart = { host, rows, count: () => (typeof marks === "function" ? marks() : host.querySelectorAll(marks).length) };
  (host.closest(".stage") || host).after(bar);
  return bar;
}
/// How many points the paths of a chart have: those that begin or go on with one of the commands.
const pointsOf = (host, paths, commands) => [...host.querySelectorAll(paths)].reduce((sum, path) => sum + (path.getAttribute("d").match(commands) || []).length, 0);
/// Draws anew whenever the width changes: `draw(width)` fills the emptied host.
function fluid(host, draw, least = 300, most = 900) {
  let last = 0;
  const again = () => {
    const width = Math.max(least, Math.min(most, Math.round(host.clientWidth) || 640));
    if (Math.abs(width - last) < 2) return;
    last = width;
    host.replaceChildren();
    draw(width);
  };
  again();
  new ResizeObserver(again).observe(host);
}
