#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/Print.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

class Writer : FormWriter {
public:
  explicit Writer(const LatencyModel &model) : FormWriter(model, {"_", "//", FormLanguage::Python}) {}

  std::string run() {
    head();
    arguments();
    evaluate();
    wrappers();
    selfTest();
    return out;
  }

private:
  void head() {
    line("\"\"\"Step time, memory and FLOPs of training '{}' on '{}', for Python 3 without packages.\n\n"
         "Written by accord {}. Operations keep the order of the plan: there the plan's own step is {} s{}.\n",
         commentText(m.model), commentText(m.machine), commentText(m.version), ExpressionPrinter::real(m.planStep),
         m.exact ? ",\nand so is this model's"
                 : ";\nthis model's is a little shorter, as the plan waits where it need not");
    line("Arguments, and where the model holds (elsewhere: ValueError):");
    for (const LatencyArgument &a : m.arguments())
      line("  {:<24} {:<8} {} [{}]", a.name, commentText(a.unit), commentText(a.text), commentText(rangeText(a)));
    for (const std::string &note : m.notes)
      line("Note: {}.", commentText(note));
    line("\nRun it as a program to check it against the samples it carries.\n\"\"\"\n"
         "import sys\nfrom collections import namedtuple\n");
    std::string fields;
    for (const LatencyModel::Output &o : m.outputs)
      fields += (fields.empty() ? "" : " ") + o.name;
    line("Argument = namedtuple(\"Argument\", \"name unit default least most multiple integer range allowed\")\nResult "
         "= namedtuple(\"Result\", \"{}\")\n",
         fields);
  }

  void arguments() {
    line("ARGUMENTS = (");
    for (const LatencyArgument &a : m.arguments())
      line("    Argument(\"{}\", \"{}\", {}, {}, {}, {}, {}, \"{}\", ({})),", a.name, commentText(a.unit),
           literal(a, a.initial), literal(a, a.min), literal(a, a.max), a.multiple, a.integer ? "True" : "False",
           commentText(rangeText(a)), a.allowed.empty() ? "" : fmt::format("{},", fmt::join(a.allowed, ", ")));
    line(")\n");
  }

  void evaluate() {
    line(R"(
def _ps(seconds, most):
    """Whole picoseconds, rounded up but for a rounding error."""
    ps = seconds * 1e12
    if not ps < float(most):
        return most
    down = int(ps)
    whole = round(ps)
    if abs(ps - float(whole)) <= ps * 8.8817841970012523e-16:
        return whole
    return down + 1 if float(down) < ps else down


def _check(argument, value):
    if argument.allowed and value not in argument.allowed:
        raise ValueError(f"{{argument.name}} = {{value}} is none of {{argument.range}}")
    inside = argument.least <= value <= argument.most
    if inside and argument.integer:
        inside = int(value) == value and int(value) % argument.multiple == 0
    if not inside:
        raise ValueError(f"{{argument.name}} = {{value}} is outside of {{argument.range}}")
    return int(value) if argument.integer else float(value)

)");
    if (m.uses(NodeKind::SquareRoot))
      line(R"(
def _root(a, b):
    """The largest whole m in 1..{} with m * m * a <= b."""
    root, bit = 0, {}
    while bit > 0:
        tried = float(root + bit)
        if tried * tried * a <= b:
            root += bit
        bit //= 2
    return max(root, 1)

)",
           kMaxRoot, (kMaxRoot + 1) / 2);
    std::string parameters, names;
    for (const LatencyArgument &a : m.arguments()) {
      parameters += (parameters.empty() ? "" : ", ") + a.name + "=" + literal(a, a.initial);
      names += a.name + ", ";
    }
    line("def evaluate({}):\n"
         "    \"\"\"Result(step_time_s, memory_bytes, flops) of one step; the defaults are the plan's own.\"\"\"\n"
         "    {}= map(_check, ARGUMENTS, ({}))",
         parameters, names, names);
    auto guard = [&](size_t i) {
      line("    if not {} <= {}:\n        raise ValueError(\"{}\")", text.use(m.guards[i].min),
           text.use(m.guards[i].max), commentText(m.guards[i].text));
    };
    body(guard, [&](NodeId id, const std::string &comment) {
      if (!comment.empty())
        line("    # {}", comment);
      line("    t{} = {}", id, text.definition(id));
    });
    std::string results;
    for (const LatencyModel::Output &o : m.outputs)
      results += (results.empty() ? "" : ", ") + text.use(o.node);
    line("    return Result({})\n", results);
  }

  void wrappers() {
    const LatencyArgument &microbatch = m.arguments()[kMicrobatch], &sequence = m.arguments()[kSequence];
    for (const LatencyModel::Output &o : m.outputs)
      line("\ndef {0}(batch, sequence={1}, microbatch={2}, **machine):\n"
           "    \"\"\"{3}.\"\"\"\n"
           "    return evaluate(batch=batch, sequence=sequence, microbatch=microbatch, **machine).{0}\n",
           o.name, literal(sequence, sequence.initial), literal(microbatch, microbatch.initial), commentText(o.text));
  }

  void selfTest() {
    line("\n_SAMPLES = (");
    for (const LatencyModel::Sample &s : m.samples)
      line("    (({},), Result({}, {}, {})),", literals(s), ExpressionPrinter::real(s.result.step),
           ExpressionPrinter::real(s.result.memory), ExpressionPrinter::real(s.result.flops));
    line(R"()


def self_test():
    """Whether every stored sample comes out, and a batch of 0 is refused."""
    passed = 0
    for number, (arguments, expected) in enumerate(_SAMPLES):
        found = evaluate(*arguments)
        if found.memory_bytes == expected.memory_bytes and all(
            abs(a - b) <= 1e-12 * abs(b) for a, b in zip(found, expected)
        ):
            passed += 1
        else:
            print(f"sample {{number}} is not what was stored")
    try:
        evaluate(batch=0)
        print("a batch of 0 is not refused")
        return False
    except ValueError:
        pass
    print(f"{{'pass' if passed == len(_SAMPLES) else 'fail'}}: {{passed}} of {{len(_SAMPLES)}} samples")
    return passed == len(_SAMPLES)


if __name__ == "__main__":
    sys.exit(0 if self_test() else 1))");
  }
};

} // namespace

std::string printPython(const LatencyModel &model) { return Writer(model).run(); }

} // namespace accord
