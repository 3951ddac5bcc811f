// What an editor makes of a grammar: rules of the kinds "match" and "begin … end", as ours have. Where the packages of the
// editor are there, grammar.js compares this with them.
"use strict";

const compiled = new Map();
function expression(source) {
  if (!compiled.has(source)) compiled.set(source, new RegExp(source, "dg"));
  return compiled.get(source);
}

function matchAt(source, line, from) {
  const found = expression(source);
  found.lastIndex = from;
  return found.exec(line);
}

// The scopes of each character of a line, one list each. All rules end with their line, which the grammars promise.
function scopesOfLine(grammar, line) {
  const scopes = Array.from({ length: line.length }, () => [grammar.scopeName]);
  const add = (begin, end, name) => {
    for (let i = begin; name && i < end; ++i) scopes[i].push(name);
  };
  const run = (patterns, from, closing) => {
    let at = from;
    while (at <= line.length) {
      const end = closing ? matchAt(closing, line, at) : null;
      let best = null;
      let rule = null;
      for (const one of patterns) {
        const found = matchAt(one.match ?? one.begin, line, at);
        if (found && (!best || found.index < best.index)) [best, rule] = [found, one];
      }
      if (end && (!best || end.index <= best.index)) return end.index + end[0].length;
      if (!best) return line.length;
      if (rule.begin) {
        const after = run(rule.patterns ?? [], best.index + best[0].length, rule.end);
        add(best.index, after, rule.name);
        at = Math.max(after, at + 1);
        continue;
      }
      add(best.index, best.index + best[0].length, rule.name);
      for (const [group, { name }] of Object.entries(rule.captures ?? {}))
        if (best.indices[group]) add(best.indices[group][0], best.indices[group][1], name);
      at = Math.max(best.index + best[0].length, at + 1);
    }
    return line.length;
  };
  run(grammar.patterns, 0, null);
  return scopes;
}

module.exports = { scopesOfLine };
