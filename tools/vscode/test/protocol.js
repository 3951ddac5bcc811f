// Speaks to accord-lsp as the editor's own client library does: the messages are those of the protocol's package.
// usage: node protocol.js SOURCE
"use strict";
const assert = require("assert");
const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");
const rpc = require("vscode-jsonrpc/node");
const protocol = require("vscode-languageserver-protocol");
const { pathToFileURL } = require("url");

async function main() {
  const server = spawn("accord-lsp", [], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  const diagnosed = [];
  connection.onNotification(protocol.PublishDiagnosticsNotification.type, (one) => diagnosed.push(one));
  connection.listen();

  const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
    processId: process.pid, rootUri: null, workspaceFolders: null,
    capabilities: { textDocument: { completion: { completionItem: { snippetSupport: true } }, inlayHint: {} } },
  });
  assert.strictEqual(capabilities.textDocumentSync.change, protocol.TextDocumentSyncKind.Incremental);
  connection.sendNotification(protocol.InitializedNotification.type, {});

  const file = path.join(process.argv[2], "examples/01-first-plan/gpt2_xl.dnn");
  const uri = pathToFileURL(file).toString(), text = fs.readFileSync(file, "utf8");
  connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "dnn", version: 1, text },
  });
  const textDocument = { uri }, lines = text.split("\n");
  const line = lines.findIndex((one) => one.startsWith("train"));
  const position = { line, character: lines[line].indexOf("a100_80g") + 2 };

  const hover = await connection.sendRequest(protocol.HoverRequest.type, { textDocument, position });
  assert(hover.contents.value.includes("accelerator a100_80g"), hover);
  const items = await connection.sendRequest(protocol.CompletionRequest.type, { textDocument, position });
  assert(items.items.some((one) => one.label === "a100_80g"), items);
  const definition = await connection.sendRequest(protocol.DefinitionRequest.type, { textDocument, position });
  assert(definition.uri.endsWith("a100.accel"), definition);
  const tokens = await connection.sendRequest(protocol.SemanticTokensRequest.type, { textDocument });
  assert.strictEqual(tokens.data.length % 5, 0);
  const symbols = await connection.sendRequest(protocol.DocumentSymbolRequest.type, { textDocument });
  assert(protocol.DocumentSymbol.is(symbols[0]), symbols);
  for (const fold of await connection.sendRequest(protocol.FoldingRangeRequest.type, { textDocument })) assert(protocol.FoldingRange.is(fold), fold);
  for (const hint of await connection.sendRequest(protocol.InlayHintRequest.type, {
    textDocument, range: { start: { line: 0, character: 0 }, end: { line: lines.length, character: 0 } },
  })) assert(protocol.InlayHint.is(hint), hint);
  for (const lens of await connection.sendRequest(protocol.CodeLensRequest.type, { textDocument })) assert(protocol.CodeLens.is(lens), lens);
  const edit = await connection.sendRequest(protocol.RenameRequest.type, {
    textDocument, position: { line, character: lines[line].indexOf(" = ") - 2 }, newName: "renamed",
  });
  assert(protocol.WorkspaceEdit.is(edit), edit);

  connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: 2 },
    contentChanges: [{ range: { start: { line: line + 1, character: 2 }, end: { line: line + 1, character: 7 } }, text: "bach" }],
  });
  while (!diagnosed.some((one) => one.diagnostics.length > 0)) await new Promise((next) => setTimeout(next, 20));
  const { diagnostics } = diagnosed.find((one) => one.diagnostics.length > 0);
  assert(protocol.Diagnostic.is(diagnostics[0]) && diagnostics[0].code === "A0101", diagnostics);
  const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
    textDocument, range: diagnostics[0].range, context: { diagnostics },
  });
  assert(actions.every((one) => protocol.CodeAction.is(one)) && actions.length === 1, actions);

  await connection.sendRequest(protocol.ShutdownRequest.type);
  await connection.sendNotification(protocol.ExitNotification.type);
  assert.strictEqual(await new Promise((next) => server.on("exit", next)), 0);
  connection.dispose();
  console.log("done");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
