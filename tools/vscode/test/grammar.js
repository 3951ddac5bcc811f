// Tokenizes every example and every file of the catalogue with the grammars, as an editor does, and looks at some words.
// usage: node grammar.js SOURCE
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const source = process.argv[2];
const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm")).buffer;

function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((one) => {
    const full = path.join(folder, one.name);
    return one.isDirectory() ? filesIn(full) : /\.(accel|dnn)$/.test(one.name) ? [full] : [];
  });
}

// The innermost scope of each word of a text, by word; of several the first.
function scopesOf(grammar, text) {
  const found = {};
  let state = textmate.INITIAL;
  for (const line of text.split(/\r?\n/)) {
    const answer = grammar.tokenizeLine(line, state);
    state = answer.ruleStack;
    for (const token of answer.tokens) {
      const word = line.slice(token.startIndex, token.endIndex).trim();
      if (word && !(word in found)) found[word] = token.scopes[token.scopes.length - 1];
    }
    assert(!answer.stoppedEarly, line);
  }
  return { found, depth: state.depth };
}

async function main() {
  await oniguruma.loadWASM(wasm);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => {
      const file = path.join(__dirname, "../syntaxes", scope.replace("source.", "") + ".tmLanguage.json");
      return textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file);
    },
  });
  const grammars = { accel: await registry.loadGrammar("source.accel"), dnn: await registry.loadGrammar("source.dnn") };
  const files = [...filesIn(path.join(source, "examples")), ...filesIn(path.join(source, "lib/catalog"))];
  for (const file of files) {
    const { depth } = scopesOf(grammars[file.split(".").pop()], fs.readFileSync(file, "utf8"));
    assert.strictEqual(depth, 1, `${file}: a rule stays open at its end`);
  }
  const dnn = scopesOf(grammars.dnn,
    '/// about\nmodel m(seq = 1) {\n  let h = gelu(linear(x, out = 4))\n  repeat 3 as block { x = mine(h) }\n}\n' +
    'train t = m() on a100_80g { batch = 32, step = 1\n  require step_time <= 2 s // rest\n}\nimport "a.dnn"').found;
  const expected = {
    "/// about": "comment.line.documentation.accord", model: "storage.type.accord", m: "entity.name.type.accord",
    let: "storage.type.accord", gelu: "support.function.accord", linear: "support.function.accord",
    out: "variable.other.property.accord", 4: "constant.numeric.accord", repeat: "keyword.control.accord",
    mine: "entity.name.function.accord", step: "variable.other.property.accord", require: "keyword.other.accord",
    s: "keyword.other.unit.accord", "// rest": "comment.line.double-slash.accord", import: "keyword.control.accord",
    on: "keyword.other.accord",
  };
  for (const [word, scope] of Object.entries(expected)) assert.strictEqual(dnn[word], scope, word);
  const accel = scopesOf(grammars.accel, "accelerator a {\n  memory hbm : dram { capacity = 16 GiB, bandwidth = 64 B/cycle }\n}").found;
  assert.strictEqual(accel.memory, "storage.type.accord");
  assert.strictEqual(accel.dram, "entity.name.type.accord");
  assert.strictEqual(accel.GiB, "keyword.other.unit.accord");
  assert.strictEqual(accel["B/cycle"], "keyword.other.unit.accord");
  console.log(`${files.length} files, done`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
