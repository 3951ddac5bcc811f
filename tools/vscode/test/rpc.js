// A client of the language server protocol: starts a server, and sends and gets its messages.
"use strict";
const { spawn } = require("child_process");

class Connection {
  constructor(command, args = []) {
    this.server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.exited = new Promise((done, failed) => {
      this.server.on("exit", done);
      this.server.on("error", failed);
    });
    this.exited.catch(() => {});
    this.waiting = new Map();
    this.listeners = [];
    this.count = 0;
    let data = Buffer.alloc(0);
    this.server.stdout.on("data", (more) => {
      data = Buffer.concat([data, more]);
      for (;;) {
        const head = data.indexOf("\r\n\r\n");
        if (head < 0) return;
        const length = Number(/content-length: *(\d+)/i.exec(data.subarray(0, head).toString())[1]);
        if (data.length < head + 4 + length) return;
        const message = JSON.parse(data.subarray(head + 4, head + 4 + length).toString());
        data = data.subarray(head + 4 + length);
        this.take(message);
      }
    });
  }
  take(message) {
    if (message.method) return this.listeners.forEach((told) => told(message.method, message.params));
    const { done, failed } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) failed(Object.assign(new Error(message.error.message), { code: message.error.code }));
    else done(message.result);
  }
  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.server.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.server.stdin.write(body);
  }
  request(method, params) {
    const id = ++this.count;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.send({ id, method, params });
    });
  }
  notify(method, params) {
    this.send({ method, params });
  }
  onNotification(told) {
    this.listeners.push(told);
  }
}

module.exports = { Connection };
