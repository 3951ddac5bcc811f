// Runs the extension against accord-lsp in an editor that is none: it starts and ends servers, plans a training, opens its
// report, and tells what went wrong.
// usage: node client.js SOURCE WORK
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const stub = require("./stub.js");

stub.install();
const extension = require("../src/extension.js");
const package_ = JSON.parse(fs.readFileSync(path.join(__dirname, "../package.json"), "utf8"));
const [source, work] = process.argv.slice(2);
const { vscode, shown } = stub;

async function until(what) {
  for (let i = 0; i < 3000; ++i) {
    const found = what();
    if (found) return found;
    await new Promise((next) => setTimeout(next, 20));
  }
  throw new Error(`never: ${what}`);
}

async function main() {
  fs.mkdirSync(work, { recursive: true });
  const file = path.join(work, "plan.dnn");
  const text = 'import "catalog/tpu.accel"\nimport "catalog/alexnet.dnn"\n' +
    ["one", "two"].map((name) => `train ${name} = alexnet() on tpu_like { batch = 8 }\n`).join("");
  fs.writeFileSync(file, text);
  const document = new stub.Document(file, "dnn", text);
  stub.open(document);
  const context = { subscriptions: [] };
  extension.activate(context);

  // Its commands are those that package.json offers, and that of the server.
  await until(() => stub.clients.length === 1);
  const offered = package_.contributes.commands.map((one) => one.command);
  assert.deepStrictEqual(offered.sort(), ["accord.planHere", "accord.restart"]);
  for (const key of Object.keys(package_.contributes.configuration.properties))
    assert(key.replace("accord.", "") in stub.settings, key);
  const languages = package_.contributes.languages.map((one) => one.id);
  assert.deepStrictEqual(stub.clients[0].options.documentSelector.map((one) => one.language).sort(), languages.sort());
  await until(() => shown.diagnostics.has(document.uri.toString()));
  assert.deepStrictEqual(shown.diagnostics.get(document.uri.toString()), []);

  // Without a file that can be planned it says so.
  await vscode.commands.executeCommand("accord.planHere");
  assert.match(shown.messages.pop(), /Open a .dnn file/);
  vscode.window.activeTextEditor = { document: new stub.Document(path.join(work, "empty.dnn"), "dnn", "let a = 1\n"),
    selection: { active: { line: 0 } } };
  await vscode.commands.executeCommand("accord.planHere");
  assert.match(shown.messages.pop(), /no training/);

  // The training that the cursor is in, after the file was saved; the report is opened on demand.
  document.change(text.replace("batch = 8 }\n", "batch = 16 }\n"));
  assert(document.isDirty);
  vscode.window.activeTextEditor = { document, selection: { active: { line: 3 } } };
  stub.setChoice((message, items) => items[0]);
  const answer = await vscode.commands.executeCommand("accord.planHere");
  assert.match(answer.status, /^(optimal|feasible)$/);
  assert.strictEqual(document.saves, 1);
  assert.deepStrictEqual(shown.progress, ["Planning two"]);
  assert.strictEqual(shown.messages.pop(), `two: ${answer.status}`);
  assert(fs.existsSync(answer.report) && shown.opened.length === 1 && shown.opened[0].endsWith(path.basename(answer.report)));
  stub.setChoice(() => undefined);
  vscode.window.activeTextEditor.selection.active.line = 0; // before all of them: the first one
  await vscode.commands.executeCommand("accord.planHere");
  assert.deepStrictEqual([shown.progress.pop(), shown.opened.length], ["Planning one", 1]);

  // The lens of the server runs the same command.
  const { connection } = stub.clients[0];
  const lenses = await connection.request("textDocument/codeLens", { textDocument: { uri: document.uri.toString() } });
  assert.deepStrictEqual(lenses.map((one) => one.command.arguments[1]), ["one", "two"]);
  const { command } = lenses[1];
  assert((await vscode.commands.executeCommand(command.command, ...command.arguments)).report);
  await assert.rejects(vscode.commands.executeCommand("accord.plan", document.uri.toString(), "nothing"), /nothing/);

  // Errors of the text that is typed, then right again.
  const before = document.text;
  document.change(before.replace("batch", "bach"));
  const [found] = await until(() => shown.diagnostics.get(document.uri.toString()).length && shown.diagnostics.get(document.uri.toString()));
  assert.strictEqual(found.code, "A0101");
  document.change(before);
  await until(() => shown.diagnostics.get(document.uri.toString()).length === 0);

  // Another server after a restart; the old one has ended well.
  const [old] = stub.clients;
  await vscode.commands.executeCommand("accord.restart");
  await until(() => stub.clients.length === 1);
  assert(stub.clients[0] !== old && old.exitStatus === 0);

  // A server that cannot be started is named.
  stub.settings.mlirServer = path.join(work, "no-such-server");
  await vscode.commands.executeCommand("accord.restart");
  await until(() => shown.errors.length);
  assert.match(shown.errors[0], /no-such-server.*cannot be started.*settings/s);
  // It hinders nobody from a restart with the right one.
  stub.settings.mlirServer = "";
  await vscode.commands.executeCommand("accord.restart");
  await until(() => stub.clients.length === 1);
  const last = stub.clients[0];
  await extension.deactivate();
  assert.strictEqual(await last.connection.exited, 0);
  context.subscriptions.forEach((one) => one.dispose());
  console.log("done");
}

setTimeout(() => {
  console.error("no end after two minutes");
  process.exit(1);
}, 120000).unref();
main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
