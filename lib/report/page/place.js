// What a page shows is kept in the location's hash, so that a link opens it there: "#op=block.fc1&at=batch:64".
const place = {
  all() {
    const found = new Map();
    for (const part of location.hash.slice(1).split("&")) {
      const at = part.indexOf("=");
      if (at <= 0) continue;
      try { found.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1))); } catch { /* no escape of a URL: as if it were not there */ }
    }
    return found;
  },
  get(key) { return this.all().get(key); },
  /// Without `value` the key leaves the hash.
  set(key, value) {
    const now = this.all();
    if (value === undefined || value === null || value === "") now.delete(key); else now.set(key, String(value));
    const hash = "#" + [...now].map(([k, v]) => `${k}=${encodeURIComponent(v).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/")}`).join("&");
    this.own = hash;
    try { history.replaceState(null, "", hash); } catch { location.hash = hash; }
  },
  /// Calls `apply` with the key's value, now if there is one, and whenever a link changes it.
  on(key, apply) {
    if (this.get(key) !== undefined) apply(this.get(key));
    addEventListener("hashchange", () => { if (location.hash !== this.own) apply(this.get(key)); });
  },
};
