// Requests to the scheduler with the token of this tab, and its stream of events.

/// Why a request was not answered as it was meant.
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: no answer
  }
}

const api = {
  token: sessionStorage.getItem("accord-token") || "",
  isOpen: false, // the scheduler needs no token
  onRefused: () => {}, // the token is not known any more

  keepToken(token) {
    this.token = token;
    if (token) sessionStorage.setItem("accord-token", token);
    else sessionStorage.removeItem("accord-token");
  },

  headers() { return this.token ? { Authorization: `Bearer ${this.token}` } : {}; },
  /// Who asks is known: by a token, or the scheduler needs none.
  get isIn() { return this.token !== "" || this.isOpen; },

  /// The answer as JSON, null if it is empty. Throws a Refusal.
  async ask(path, method = "GET", body = undefined) {
    const token = this.token, headers = this.headers();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response, text;
    try {
      response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(30000) });
      text = await response.text();
    } catch {
      throw new Refusal(0, "the scheduler does not answer");
    }
    let answer = null;
    try {
      answer = text ? JSON.parse(text) : null;
    } catch {
      throw new Refusal(response.status, `an answer that is not JSON came for ${path}`);
    }
    if (response.ok) return answer;
    const errors = answer && Array.isArray(answer.errors) ? answer.errors : [];
    if (response.status === 401 && token === this.token) this.onRefused();
    throw new Refusal(response.status, errors.map(e => e.message).join("; ") || `status ${response.status}`);
  },
};

/// Calls `take(field, value)` for each line of a stream of server-sent events, and `take("", "")` where an event ends.
async function readEventStream(response, signal, take) {
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    signal.seen();
    const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r/);
    rest = lines.pop();
    for (const line of lines) {
      const colon = line.indexOf(":");
      if (line === "") take("", "");
      else if (colon > 0) take(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
    }
  }
}

/// Follows the events: begins anew by itself where it was cut off, later and later. EventSource sends no token.
class EventFollower {
  constructor(onBegin, onEvent, onState) {
    Object.assign(this, { onBegin, onEvent, onState, last: -1, ends: false, failures: 0, generation: 0 });
  }
  start() {
    this.ends = false;
    this.follow(++this.generation);
  }
  stop() {
    this.ends = true;
    ++this.generation;
    if (this.abort) this.abort.abort();
    if (this.wake) this.wake();
  }
  /// Ends a wait for the next attempt.
  hurry() { if (this.wake) this.wake(); }

  async follow(generation) {
    while (!this.ends && generation === this.generation) {
      let status = 0;
      try {
        status = await this.once();
      } catch { /* cut off: once more */ }
      if (this.ends || generation !== this.generation) return;
      if (status === 401) { api.onRefused(); return; }
      ++this.failures;
      const wait = Math.min(15, 2 ** Math.min(this.failures - 1, 4));
      this.onState(false, wait);
      await new Promise(done => { this.wake = done; setTimeout(done, wait * 1000); });
    }
  }
  /// Until the stream ends. The status, if it was refused.
  async once() {
    this.abort = new AbortController();
    let timer = 0;
    const signal = { seen: () => { clearTimeout(timer); timer = setTimeout(() => this.abort.abort(), 50000); } };
    signal.seen();
    try {
      const path = "/v1/events/stream" + (this.last >= 0 ? `?after=${this.last}` : "");
      const response = await fetch(path, { headers: api.headers(), cache: "no-store", signal: this.abort.signal });
      if (!response.ok) return response.status;
      this.failures = 0;
      this.onState(true, 0);
      let data = "";
      await readEventStream(response, signal, (field, value) => {
        if (field === "id" && this.last < 0) this.onBegin(this.last = Number(value) || 0);
        else if (field === "data") data += value;
        else if (field === "" && data) { this.take(data); data = ""; }
      });
      return 0;
    } finally {
      clearTimeout(timer);
    }
  }
  take(data) {
    let event = null;
    try {
      event = JSON.parse(data);
    } catch { return; }
    if (event && event.number > this.last) {
      this.last = event.number;
      this.onEvent(event);
    }
  }
}
