#include "lib/scheduling/output/SchedulingMlir.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/scheduling/output/SchedulingKeywords.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace accord {
namespace {

using Problem = SchedulingProblem;

class Writer {
public:
  Writer(MLIRContext &context, const Problem &p)
      : p(p), builder(&context), at(builder.getUnknownLoc()), tasks(namesOf(p.tasks)), resources(namesOf(p.resources)),
        budgets(namesOf(p.budgets)), memories(namesOf(p.memories)) {}

  OwningOpRef<ModuleOp> write(const SchedulingResult *result) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, at);
    builder.setInsertionPointToEnd(module->getBody());
    auto problem =
        plan::ProblemOp::create(builder, at, "problem", p.name.empty() ? StringAttr() : builder.getStringAttr(p.name));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&problem.getBody().emplaceBlock());
      parts();
    }
    if (result)
      solution(*result);
    return module;
  }

private:
  const Problem &p;
  OpBuilder builder;
  Location at;
  std::vector<std::string> tasks, resources, budgets, memories;

  IntegerAttr number(int64_t value) { return builder.getI64IntegerAttr(value); }
  StringAttr string(const std::string &text) { return builder.getStringAttr(text); }
  StringAttr task(Problem::Id id) { return string(id < tasks.size() ? tasks[id] : "#" + std::to_string(id)); }
  ArrayAttr list(const std::vector<Problem::Id> &ids) {
    SmallVector<Attribute> names;
    for (Problem::Id id : ids)
      names.push_back(task(id));
    return names.empty() ? ArrayAttr() : builder.getArrayAttr(names);
  }

  void parts() {
    for (const auto &r : p.resources)
      plan::ResourceOp::create(builder, at, r.name, r.capacity);
    for (const auto &b : p.budgets)
      plan::BudgetOp::create(builder, at, b.name, b.capacity);
    for (const auto &m : p.memories)
      plan::MemoryOp::create(builder, at, m.name, m.capacity);
    for (const auto &t : p.tasks) {
      SmallVector<Attribute> modes;
      for (const auto &mode : t.modes)
        modes.push_back(this->mode(mode));
      plan::TaskOp::create(builder, at, t.name, builder.getArrayAttr(modes));
    }
    for (const auto &edge : p.precedences)
      plan::PrecedenceOp::create(builder, at, task(edge.before), task(edge.after),
                                 edge.delay ? number(edge.delay) : IntegerAttr());
    for (const auto &lag : p.lags)
      plan::TimeLagOp::create(builder, at, task(lag.before), task(lag.after), number(lag.lag));
    for (const auto &b : p.buffers) {
      SmallVector<Attribute> readers;
      for (const auto &reader : b.readers) {
        SmallVector<Attribute> names = {task(reader.task)};
        if (reader.unless != Problem::kNoTask)
          names.push_back(task(reader.unless));
        readers.push_back(builder.getArrayAttr(names));
      }
      plan::BufferOp::create(builder, at, string(b.name), number(b.bytes), string(memories[b.memory]),
                             b.producer == Problem::kNoTask ? StringAttr() : task(b.producer),
                             readers.empty() ? ArrayAttr() : builder.getArrayAttr(readers),
                             b.persistent ? builder.getUnitAttr() : UnitAttr());
    }
    for (const auto &pairing : p.pairings) {
      SmallVector<int64_t> allowed;
      for (auto [a, b] : pairing.allowed)
        allowed.append({a, b});
      plan::PairingOp::create(builder, at, task(pairing.a), task(pairing.b), builder.getDenseI64ArrayAttr(allowed));
    }
  }

  DictionaryAttr mode(const Problem::Mode &mode) {
    NamedAttrList entries;
    if (!mode.name.empty())
      entries.set("name", string(mode.name));
    if (mode.absent) {
      entries.set("absent", builder.getUnitAttr());
      return entries.getDictionary(builder.getContext());
    }
    entries.set("duration", number(mode.duration));
    auto amounts = [&](StringRef what, const std::vector<Problem::Usage> &usage,
                       const std::vector<std::string> &names) {
      SmallVector<Attribute> all;
      for (const auto &use : usage)
        all.push_back(builder.getArrayAttr({string(names[use.of]), number(use.amount)}));
      if (!all.empty())
        entries.set(what, builder.getArrayAttr(all));
    };
    amounts("uses", mode.usage, resources);
    amounts("consumes", mode.spends, budgets);
    return entries.getDictionary(builder.getContext());
  }

  void solution(const SchedulingResult &result) {
    bool feasible = result.status == SchedulingResult::Status::Feasible;
    SmallVector<StringRef> conflict(result.conflict.begin(), result.conflict.end());
    auto solution = plan::SolutionOp::create(builder, at, FlatSymbolRefAttr::get(builder.getContext(), "problem"),
                                             string(keywordOf(result.status)),
                                             feasible ? number(result.solution.makespan) : IntegerAttr(),
                                             conflict.empty() ? ArrayAttr() : builder.getStrArrayAttr(conflict),
                                             result.stopped.empty() ? StringAttr() : string(result.stopped));
    builder.setInsertionPointToEnd(&solution.getBody().emplaceBlock());
    for (Problem::Id t = 0; feasible && t < p.tasks.size(); ++t)
      plan::StartOp::create(builder, at, task(t), number(result.solution.start[t]),
                            result.solution.mode[t] ? number(result.solution.mode[t]) : IntegerAttr());
    bound(result.bound);
  }

  void bound(const SchedulingBound &bound) {
    bool shares = bound.kind == SchedulingBound::Kind::Set;
    auto lowerBound = plan::LowerBoundOp::create(
        builder, at, number(bound.value), string(keywordOf(bound.kind)), string(bound.proof), list(bound.tasks),
        shares && bound.resource < resources.size() ? string(resources[bound.resource]) : StringAttr(),
        bound.unit > 1 ? number(bound.unit) : IntegerAttr(),
        bound.weights.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(bound.weights));
    if (bound.steps.empty())
      return;
    builder.setInsertionPointToEnd(&lowerBound.getSteps().emplaceBlock());
    for (const ProofStep &step : bound.steps) {
      bool pair = step.rule == ProofStep::Rule::Pair;
      StringAttr other = pair                            ? task(step.other)
                         : step.other < resources.size() ? string(resources[step.other])
                                                         : string("#" + std::to_string(step.other));
      plan::StepOp::create(builder, at, string(keywordOf(step.rule)), task(step.task),
                           step.early ? builder.getUnitAttr() : UnitAttr(), number(step.time), other,
                           step.from ? number(step.from) : IntegerAttr(), step.to ? number(step.to) : IntegerAttr(),
                           list(step.tasks));
    }
  }
};

} // namespace

std::string schedulingMlir(const SchedulingProblem &problem, const SchedulingResult *result) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<plan::PlanDialect>();
  std::string text;
  llvm::raw_string_ostream out(text);
  // Unverified: what does not hold is written as it is, and found by who reads it.
  OpPrintingFlags flags;
  flags.assumeVerified();
  Writer(context, problem).write(result)->print(out, flags);
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  return text;
}

} // namespace accord
