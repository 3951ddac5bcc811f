// Starts the language servers and gives the editor what the protocol has no request for: the report of a plan.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let clients = [];

function start(name, command, languages) {
  const options = {
    documentSelector: languages.map((language) => ({ scheme: "file", language })),
    middleware: { executeCommand: plan },
  };
  const client = new LanguageClient(`accord.${languages[0]}`, name, { command, args: [] }, options);
  const started = client.start().then(() => true, (error) =>
    void vscode.window.showErrorMessage(`${name}: '${command}' cannot be started (${error.message}). Set its path in the settings of Accord.`));
  clients.push({ client, started });
}

// The file is planned as it is on the disk, so it is saved first. What is written is offered to be opened.
async function plan(command, parameters, next) {
  if (command !== "accord.plan") return next(command, parameters);
  const uri = vscode.Uri.parse(parameters[0]);
  const open = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  if (open && open.isDirty) await open.save();
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Planning ${parameters[1]}`, cancellable: false },
    async () => {
      const answer = await next(command, parameters);
      if (!answer) return answer;
      const choice = await vscode.window.showInformationMessage(`${parameters[1]}: ${answer.status}`, "Open the report");
      if (choice) await vscode.env.openExternal(vscode.Uri.file(answer.report));
      return answer;
    });
}

// The training that the cursor is in, or the first of the file.
async function planHere() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== "dnn")
    return vscode.window.showInformationMessage("Open a .dnn file with a training first.");
  let chosen;
  for (let line = 0; line < editor.document.lineCount; ++line) {
    const found = /^\s*train\s+([A-Za-z_]\w*)/.exec(editor.document.lineAt(line).text);
    if (found && (!chosen || line <= editor.selection.active.line)) chosen = found[1];
  }
  if (!chosen) return vscode.window.showInformationMessage("This file has no training.");
  return vscode.commands.executeCommand("accord.plan", editor.document.uri.toString(), chosen);
}

function startAll() {
  const settings = vscode.workspace.getConfiguration("accord");
  start("Accord", settings.get("server"), ["dnn", "accel"]);
  if (settings.get("mlirServer")) start("Accord MLIR", settings.get("mlirServer"), ["mlir"]);
}

async function stopAll() {
  const ending = clients;
  clients = [];
  // One that is being started cannot be stopped yet, and one that could not be started never.
  await Promise.allSettled(ending.map(async ({ client, started }) => (await started) && client.stop()));
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("accord.planHere", planHere),
    vscode.commands.registerCommand("accord.restart", async () => { await stopAll(); startAll(); }));
  startAll();
};
exports.deactivate = stopAll;
