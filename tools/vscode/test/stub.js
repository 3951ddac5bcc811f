// As much of the editor as the extension asks for, and a client library that speaks to the real server, for tests without
// the packages of either.
"use strict";
const Module = require("module");
const { pathToFileURL, fileURLToPath } = require("url");
const { Connection } = require("./rpc.js");

const commands = new Map();
const shown = { messages: [], errors: [], opened: [], progress: [], diagnostics: new Map() };
const settings = { server: "accord-lsp", mlirServer: "" };
const clients = [];
let choose = () => undefined; // what the person clicks in a message

class Uri {
  constructor(text) {
    this.text = text;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(pathToFileURL(path).toString());
  }
  get fsPath() {
    return fileURLToPath(this.text);
  }
  toString() {
    return this.text;
  }
}

class Document {
  constructor(path, languageId, text) {
    Object.assign(this, { uri: Uri.file(path), languageId, text, version: 1, isDirty: false, saves: 0 });
  }
  get lineCount() {
    return this.text.split("\n").length;
  }
  lineAt(line) {
    return { text: this.text.split("\n")[line] };
  }
  async save() {
    require("fs").writeFileSync(this.uri.fsPath, this.text);
    this.isDirty = false;
    ++this.saves;
  }
  // What the person types: the whole text anew.
  change(text) {
    Object.assign(this, { text, version: this.version + 1, isDirty: true });
    clients.forEach((client) => client.changed(this));
  }
}

const vscode = {
  Uri,
  ProgressLocation: { Notification: 15 },
  workspace: { textDocuments: [], getConfiguration: () => ({ get: (key) => settings[key] }) },
  window: {
    activeTextEditor: undefined,
    async withProgress(options, task) {
      shown.progress.push(options.title);
      return task();
    },
    async showInformationMessage(message, ...items) {
      shown.messages.push(message);
      return choose(message, items);
    },
    async showErrorMessage(message) {
      shown.errors.push(message);
    },
  },
  env: {
    async openExternal(uri) {
      shown.opened.push(uri.toString());
    },
  },
  commands: {
    registerCommand(name, call) {
      if (commands.has(name)) throw new Error(`command '${name}' already exists`);
      commands.set(name, call);
      return { dispose: () => commands.delete(name) };
    },
    async executeCommand(name, ...parameters) {
      if (!commands.has(name)) throw new Error(`command '${name}' not found`);
      return commands.get(name)(...parameters);
    },
  },
};

// What vscode-languageclient does for the extension: starts the server, keeps documents the same on both sides, and
// registers the commands that the server offers, behind the middleware of the extension.
class LanguageClient {
  constructor(id, name, { command, args }, options) {
    Object.assign(this, { id, name, command, args, options, registered: [] });
  }
  async start() {
    this.connection = new Connection(this.command, this.args);
    this.connection.onNotification((method, params) => {
      if (method === "textDocument/publishDiagnostics") shown.diagnostics.set(params.uri, params.diagnostics);
    });
    const answer = this.connection.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    const { capabilities } = await Promise.race([answer, this.connection.exited.then(() => Promise.reject(new Error("it ended")))]);
    this.capabilities = capabilities;
    this.connection.notify("initialized", {});
    for (const command of capabilities.executeCommandProvider?.commands ?? []) {
      const next = (name, parameters) => this.connection.request("workspace/executeCommand", { command: name, arguments: parameters });
      this.registered.push(vscode.commands.registerCommand(command, (...parameters) =>
        this.options.middleware.executeCommand(command, parameters, next)));
    }
    clients.push(this);
    vscode.workspace.textDocuments.forEach((one) => this.opened(one));
  }
  takes(document) {
    return this.options.documentSelector.some((one) => one.language === document.languageId && one.scheme === "file");
  }
  opened(document) {
    if (!this.takes(document)) return;
    const { uri, languageId, version, text } = document;
    this.connection.notify("textDocument/didOpen", { textDocument: { uri: uri.toString(), languageId, version, text } });
  }
  changed(document) {
    if (!this.takes(document)) return;
    const { uri, version, text } = document;
    this.connection.notify("textDocument/didChange", { textDocument: { uri: uri.toString(), version }, contentChanges: [{ text }] });
  }
  async stop() {
    if (!clients.includes(this)) throw new Error("Client is not running and can't be stopped.");
    this.registered.forEach((one) => one.dispose());
    clients.splice(clients.indexOf(this), 1);
    await this.connection.request("shutdown");
    this.connection.notify("exit");
    this.exitStatus = await this.connection.exited;
  }
}

// From now on `require` gives these to the extension.
function install() {
  const load = Module._load;
  Module._load = function (request, ...rest) {
    if (request === "vscode") return vscode;
    if (request === "vscode-languageclient/node") return { LanguageClient };
    return load.call(this, request, ...rest);
  };
}

function open(document) {
  vscode.workspace.textDocuments.push(document);
  clients.forEach((client) => client.opened(document));
}

module.exports = { install, open, Document, vscode, shown, settings, clients, setChoice: (call) => { choose = call; } };
