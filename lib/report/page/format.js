// Numbers for people, and elements without innerHTML: names in a plan are never markup.
const SI = ["", "k", "M", "G", "T", "P", "E", "Z"];
const trim = (v, digits = 3) => String(Number(v.toPrecision(digits)));
const digits4 = v => (v >= 1000 ? Math.round(v).toString() : trim(v, 4));
function si(value, unit, digits = 4) {
  if (!isFinite(value)) return "–";
  let p = 0, v = Math.abs(value);
  while (v >= 999.95 && p < SI.length - 1) { v /= 1000; ++p; }
  return ((value < 0 ? "−" : "") + trim(v, digits) + " " + SI[p] + unit).replace("  ", " ");
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let p = 0, v = Math.abs(value);
  while (v >= 1023.95 && p < units.length - 1) { v /= 1024; ++p; }
  return (value < 0 ? "−" : "") + trim(v, 4) + " " + units[p];
}
function seconds(s, digits = 4) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]];
  const a = Math.abs(s);
  if (a === 0) return "0 s";
  for (const [scale, unit] of units) if (a >= scale * 0.99995) return trim(s / scale, digits) + " " + unit;
  return trim(s / 1e-12, digits) + " ps";
}
const picos = (ps, digits) => seconds(ps * 1e-12, digits);
const percent = share => trim(share * 100, share < 0.1 ? 2 : 3) + " %";
const words = name => name.replace(/_/g, " ");
const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  set(e, attributes);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(e, attributes);
  e.append(...children);
  return e;
}
function set(e, attributes) {
  for (const [key, value] of Object.entries(attributes))
    if (key === "onclick") e.addEventListener("click", value);
    else if (value !== undefined && value !== null) e.setAttribute(key, value);
}
const byId = id => document.getElementById(id);
const swatch = name => el("i", { style: `background:var(--${name})` });
