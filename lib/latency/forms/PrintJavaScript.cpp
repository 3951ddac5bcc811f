#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/Print.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

/// Names in a plan may have quotes and what ends a script; texts of arguments and guards go in as strings.
std::string quoted(const std::string &text) { return '"' + commentText(text) + '"'; }

class Writer : FormWriter {
public:
  explicit Writer(const LatencyModel &model) : FormWriter(model, {"", "/", FormLanguage::JavaScript}) {}

  std::string run() {
    head();
    arguments();
    helpers();
    evaluate();
    selfTest();
    return out;
  }

private:
  void head() {
    line("// Step time, memory and FLOPs of training '{}' on '{}', for a page or Node.js, without packages.",
         commentText(m.model), commentText(m.machine));
    line("// Written by accord {}. Operations keep the order of the plan: there the plan's own step is {} s{}.\n//",
         commentText(m.version), ExpressionPrinter::real(m.planStep),
         m.exact ? ", and so is this model's"
                 : "; this model's is a little shorter, as the plan waits where it need not");
    line("// Arguments, and where the model holds:");
    for (const LatencyArgument &a : m.arguments())
      line("//   {:<24} {:<8} {} [{}]", a.name, commentText(a.unit), commentText(a.text), commentText(rangeText(a)));
    for (const std::string &note : m.notes)
      line("// Note: {}.", commentText(note));
    line("// Check it with: node latency_model.js\nconst latency_model = (() => {{\n\"use strict\";");
  }

  void arguments() {
    line("const ARGUMENTS = [");
    for (const LatencyArgument &a : m.arguments())
      line("  {{ name: \"{}\", unit: {}, text: {}, initial: {}, min: {}, max: {}, multiple: {}, integer: {}, "
           "range: {}, allowed: [{}], fixed: {} }},",
           a.name, quoted(a.unit), quoted(a.text), literal(a, a.initial), literal(a, a.min), literal(a, a.max),
           a.multiple, a.integer, quoted(rangeText(a)), fmt::join(a.allowed, ", "), !a.fixedReason.empty());
    line("];\nconst OUTPUTS = [");
    for (const LatencyModel::Output &o : m.outputs)
      line("  {{ name: \"{}\", text: {} }},", o.name, quoted(o.text));
    line("];\nconst GUARDS = [");
    for (const LatencyModel::Guard &guard : m.guards)
      line("  {},", quoted(guard.text));
    line("];\n");
  }

  void helpers() {
    line(R"(const ceildiv = (a, b) => {{
  const left = a % b;
  return (a - left) / b + (left > 0 ? 1 : 0);
}};
/// Whole picoseconds, rounded up but for a rounding error.
const ps = (seconds, most) => {{
  const value = seconds * 1e12;
  if (!(value < most))
    return most;
  const down = Math.trunc(value);
  let nearest = Math.trunc(value + 0.5);
  if (nearest - value === 0.5) // half way: to the even one
    nearest -= nearest % 2;
  if (Math.abs(value - nearest) <= value * 8.8817841970012523e-16)
    return nearest;
  return down < value ? down + 1 : down;
}};)");
    if (m.uses(NodeKind::SquareRoot))
      line(R"(/// The largest whole m in 1..{} with m * m * a <= b.
const root = (a, b) => {{
  let found = 0;
  for (let bit = {}; bit >= 1; bit /= 2) {{
    const tried = found + bit;
    if (tried * tried * a <= b)
      found += bit;
  }}
  return Math.max(found, 1);
}};)",
           kMaxRoot, (kMaxRoot + 1) / 2);
  }

  void evaluate() {
    std::string names, none;
    for (const LatencyArgument &a : m.arguments())
      names += (names.empty() ? "" : ", ") + a.name;
    for (const LatencyModel::Output &o : m.outputs)
      none += fmt::format(", {}: NaN", o.name);
    line(R"(
/// What a status says.
const message = status => {{
  if (status === 0)
    return "the model holds";
  const argument = ARGUMENTS[status - 1];
  return argument ? `${{argument.name}} is ${{argument.allowed.length ? "none of" : "outside of"}} ${{argument.range}}`
    : GUARDS[status - 1 - ARGUMENTS.length] || "unknown status";
}};
const holds = (a, value) => value >= a.min && value <= a.max && (!a.integer || (Number.isInteger(value) && value % a.multiple === 0)) &&
  (a.allowed.length === 0 || a.allowed.includes(value));
const refused = status => ({{ status{1} }});

/// {{status, step_time_s, memory_bytes, flops}} of one step; what is not given has the plan's own value.
const evaluate = (given = {{}}) => {{
  for (const name of Object.keys(given))
    if (!ARGUMENTS.some(a => a.name === name))
      throw new RangeError(`there is no argument ${{name}}`);
  const values = ARGUMENTS.map(a => given[a.name] === undefined ? a.initial : given[a.name]);
  const wrong = ARGUMENTS.findIndex((a, i) => typeof values[i] !== "number" || !holds(a, values[i]));
  if (wrong >= 0)
    return refused(wrong + 1);
  const [{0}] = values;)",
         names, none);
    auto guard = [&](size_t i) {
      line("  if (!({} <= {}))\n    return refused({}); // {}", text.use(m.guards[i].min), text.use(m.guards[i].max),
           m.arguments().size() + i + 1, commentText(m.guards[i].text));
    };
    body(guard, [&](NodeId id, const std::string &comment) {
      if (!comment.empty())
        line("  // {}", comment);
      line("  const t{} = {};", id, text.definition(id));
    });
    std::string results;
    for (const LatencyModel::Output &o : m.outputs)
      results += fmt::format(", {}: {}", o.name, text.use(o.node));
    line("  return {{ status: 0{} }};\n}};\n", results);
  }

  void selfTest() {
    line("const SAMPLES = [");
    for (const LatencyModel::Sample &s : m.samples)
      line("  [[{}], [{}, {}, {}]],", literals(s), ExpressionPrinter::real(s.result.step),
           ExpressionPrinter::real(s.result.memory), ExpressionPrinter::real(s.result.flops));
    line(R"(];
/// Whether every stored sample comes out, and a batch of 0 is refused.
const selfTest = say => {{
  const same = (a, b) => Math.abs(a - b) <= 1e-12 * Math.abs(b);
  let passed = 0;
  SAMPLES.forEach(([at, expected], number) => {{
    const found = evaluate(Object.fromEntries(ARGUMENTS.map((a, i) => [a.name, at[i]])));
    if (found.status === 0 && OUTPUTS.every((o, i) => same(found[o.name], expected[i])))
      ++passed;
    else
      say(`sample ${{number}} is not what was stored`);
  }});
  if (evaluate({{ batch: 0 }}).status !== 1) {{
    say("a batch of 0 is not refused");
    return false;
  }}
  say(`${{passed === SAMPLES.length ? "pass" : "fail"}}: ${{passed}} of ${{SAMPLES.length}} samples`);
  return passed === SAMPLES.length;
}};

return {{ ARGUMENTS, OUTPUTS, evaluate, message, selfTest }};
}})();
if (typeof module !== "undefined" && module.exports) {{
  module.exports = latency_model;
  if (require.main === module)
    process.exitCode = latency_model.selfTest(console.log) ? 0 : 1;
}})");
  }
};

} // namespace

std::string printJavaScript(const LatencyModel &model) { return Writer(model).run(); }

} // namespace accord
