// Tokenizes every example and every file of the catalogue with the grammars, as an editor does, and compares the colours with
// what accord-lsp says that the words are. Where the packages of the editor are there, it tokenizes with them, too.
// usage: node grammar.js SOURCE
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");
const { Connection } = require("./rpc.js");
const { scopesOfLine } = require("./tokenizer.js");

const source = process.argv[2];

function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
    const full = path.join(folder, one.name);
    return one.isDirectory() ? filesIn(full) : /\.(accel|dnn)$/.test(one.name) ? [full] : [];
  });
}

function grammarOf(language) {
  return JSON.parse(fs.readFileSync(path.join(__dirname, "../syntaxes", language + ".tmLanguage.json"), "utf8"));
}
const grammars = { accel: grammarOf("accel"), dnn: grammarOf("dnn") };
const linesOf = (text) => text.split(/\r?\n/);

// The innermost scope of each piece of a text between blanks or other scopes, by piece; of several the first.
function scopesOf(grammar, text) {
  const found = {};
  for (const line of linesOf(text)) {
    const scopes = scopesOfLine(grammar, line);
    for (let i = 0, end; i < line.length; i = end) {
      for (end = i + 1; end < line.length && scopes[end].join() === scopes[i].join(); ++end);
      const word = line.slice(i, end).trim();
      if (word && !(word in found)) found[word] = scopes[i][scopes[i].length - 1];
    }
  }
  return found;
}

// What the server calls a word, and the scopes that the grammars may give it.
const scopesOfKind = {
  keyword: /^(keyword|storage|constant\.language|entity\.name\.function|variable\.other\.property)\b/,
  comment: /^comment\b/, string: /^(string|constant\.character)\b/, number: /^(constant\.numeric|keyword\.other\.unit)\b/,
};

// Words of the languages that every place colours where they mean something.
const wordsOf = (grammar) => new Set(grammar.patterns.filter((one) => /^(keyword\.(control|other)|storage|constant\.language)/.test(one.name))
  .flatMap((one) => one.match.match(/[a-z]\w+/g)).filter((one) => one !== "w"));

async function compareWithServer(server, legend, file, language) {
  const text = fs.readFileSync(file, "utf8"), lines = linesOf(text), uri = pathToFileURL(file).toString();
  server.notify("textDocument/didOpen", { textDocument: { uri, languageId: language, version: 1, text } });
  const { data } = await server.request("textDocument/semanticTokens/full", { textDocument: { uri } });
  server.notify("textDocument/didClose", { textDocument: { uri } });
  const scopes = lines.map((line) => scopesOfLine(grammars[language], line));
  const words = wordsOf(grammars[language]);
  let compared = 0;
  for (let i = 0, line = 0, column = 0; i < data.length; i += 5) {
    [line, column] = [line + data[i], data[i + 1] + (data[i] ? 0 : column)];
    const word = lines[line].slice(column, column + data[i + 2]), kind = legend[data[i + 3]];
    if (!(kind in scopesOfKind) || (kind === "keyword" && !words.has(word))) continue;
    ++compared;
    for (let at = column; at < column + word.length; ++at) {
      if (/\s/.test(lines[line][at])) continue;
      const shown = scopes[line][at][scopes[line][at].length - 1];
      assert(scopesOfKind[kind].test(shown), `${file}:${line + 1}: ${kind} '${word}' is ${shown}`);
    }
  }
  return compared;
}

async function packages() {
  let oniguruma, textmate;
  try {
    [oniguruma, textmate] = [require("vscode-oniguruma"), require("vscode-textmate")];
  } catch {
    return null;
  }
  const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm")).buffer;
  await oniguruma.loadWASM(wasm);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => grammars[scope.replace("source.", "")],
  });
  return { textmate, accel: await registry.loadGrammar("source.accel"), dnn: await registry.loadGrammar("source.dnn") };
}

// That the tokenizer here does what the editor's does.
function compareWithPackage({ textmate, ...all }, file, language) {
  let state = textmate.INITIAL;
  for (const line of linesOf(fs.readFileSync(file, "utf8"))) {
    const answer = all[language].tokenizeLine(line, state), scopes = scopesOfLine(grammars[language], line);
    assert(!answer.stoppedEarly, line);
    for (const { startIndex, endIndex, scopes: theirs } of answer.tokens)
      for (let at = startIndex; at < Math.min(endIndex, line.length); ++at)
        assert.strictEqual(scopes[at][scopes[at].length - 1], theirs[theirs.length - 1], `${file}: ${line}, ${at}`);
    state = answer.ruleStack;
  }
  assert.strictEqual(state.depth, 1, `${file}: a rule stays open at its end`);
}

async function main() {
  const editor = await packages();
  const server = new Connection("accord-lsp");
  const { capabilities } = await server.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  server.notify("initialized", {});
  const legend = capabilities.semanticTokensProvider.legend.tokenTypes;
  const files = [...filesIn(path.join(source, "examples")), ...filesIn(path.join(source, "lib/catalog"))];
  assert(files.length > 50, files);
  let compared = 0;
  for (const file of files) {
    const language = file.split(".").pop();
    for (const line of linesOf(fs.readFileSync(file, "utf8")))
      assert(!scopesOfLine(grammars[language], line).flat().some((scope) => scope.startsWith("invalid")), `${file}: ${line}`);
    const here = await compareWithServer(server, legend, file, language);
    assert(here > 0, file);
    compared += here;
    if (editor) compareWithPackage(editor, file, language);
  }
  await server.request("shutdown");
  server.notify("exit");
  assert.strictEqual(await server.exited, 0);
  const dnn = scopesOf(grammars.dnn,
    '/// about\nmodel m(seq = 1) {\n  let h = gelu(linear(x, out = 4))\n  repeat 3 as block { x = mine(h) }\n}\n' +
    'train t = m() on a100_80g { batch = 32, step = 1\n  require step_time <= 2 s // rest\n}\nimport "a.dnn"');
  const expected = {
    "/// about": "comment.line.documentation.accord", model: "storage.type.accord", m: "entity.name.type.accord",
    let: "storage.type.accord", gelu: "support.function.accord", linear: "support.function.accord",
    out: "variable.other.property.accord", 4: "constant.numeric.accord", repeat: "keyword.control.accord",
    mine: "entity.name.function.accord", step: "variable.other.property.accord", require: "keyword.other.accord",
    s: "keyword.other.unit.accord", "// rest": "comment.line.double-slash.accord", import: "keyword.control.accord",
    on: "keyword.other.accord",
  };
  for (const [word, scope] of Object.entries(expected)) assert.strictEqual(dnn[word], scope, word);
  const accel = scopesOf(grammars.accel, "accelerator a {\n  memory hbm : dram { capacity = 16 GiB, bandwidth = 64 B/cycle }\n}");
  assert.strictEqual(accel.memory, "storage.type.accord");
  assert.strictEqual(accel.dram, "entity.name.type.accord");
  assert.strictEqual(accel.GiB, "keyword.other.unit.accord");
  assert.strictEqual(accel["B/cycle"], "keyword.other.unit.accord");
  console.log(`${files.length} files, ${compared} words, done`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
