#include "dialects/plan/PlanDialect.h"
#include "lib/scheduling/output/SchedulingKeywords.h"
#include "lib/scheduling/output/SchedulingMlir.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace accord {
namespace {

using Problem = SchedulingProblem;
using Id = Problem::Id;

SourceLocation placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return {place.getFilename().str(), place.getLine(), place.getColumn()};
  return {};
}

/// Names -> numbers. The verifier has seen to it that names of a problem lead somewhere; those of a
/// proof may not, and give kNobody.
class Ids {
public:
  void add(StringRef name) { byName.try_emplace(name, count++); }
  Id operator()(StringRef name) const {
    Id id = 0;
    if (name.consume_front("#"))
      return name.getAsInteger(10, id) ? Problem::kNoTask : id;
    auto found = byName.find(name);
    return found == byName.end() ? Problem::kNoTask : found->second;
  }

private:
  llvm::StringMap<Id> byName;
  Id count = 0;
};

class Reader {
public:
  ScheduledProblem read(plan::ProblemOp problem, plan::SolutionOp solution) {
    p.name = problem.getTitle().value_or("").str();
    collect(problem);
    for (mlir::Operation &operation : problem.getBody().front())
      part(operation);
    ScheduledProblem all{std::move(p), std::nullopt};
    if (solution)
      all.result = result(solution, all.problem.tasks.size());
    return all;
  }

private:
  Problem p;
  Ids tasks, resources, budgets, memories;

  void collect(plan::ProblemOp problem) {
    Block &parts = problem.getBody().front();
    auto read = [](auto found, Ids &ids, auto &into) {
      for (auto one : found) {
        ids.add(one.getName());
        into.push_back({one.getName().str(), static_cast<int64_t>(one.getCapacity())});
      }
    };
    read(parts.getOps<plan::ResourceOp>(), resources, p.resources);
    read(parts.getOps<plan::BudgetOp>(), budgets, p.budgets);
    read(parts.getOps<plan::MemoryOp>(), memories, p.memories);
    for (auto task : parts.getOps<plan::TaskOp>())
      tasks.add(task.getName());
  }

  static std::vector<Problem::Usage> amounts(DictionaryAttr mode, StringRef what, const Ids &ids) {
    std::vector<Problem::Usage> list;
    if (auto given = mode.getAs<ArrayAttr>(what))
      for (auto use : given.getAsRange<ArrayAttr>())
        list.push_back({ids(cast<StringAttr>(use[0]).getValue()), cast<IntegerAttr>(use[1]).getInt()});
    return list;
  }

  void part(mlir::Operation &operation) {
    if (auto t = dyn_cast<plan::TaskOp>(operation)) {
      Problem::Task task{t.getName().str(), {}, placeOf(t.getLoc())};
      for (auto given : t.getModes().getAsRange<DictionaryAttr>()) {
        auto name = given.getAs<StringAttr>("name");
        auto duration = given.getAs<IntegerAttr>("duration");
        task.modes.push_back({name ? name.str() : "", duration ? duration.getInt() : 0,
                              amounts(given, "uses", resources), amounts(given, "consumes", budgets),
                              given.contains("absent")});
      }
      p.tasks.push_back(std::move(task));
    } else if (auto edge = dyn_cast<plan::PrecedenceOp>(operation)) {
      p.addPrecedence(tasks(edge.getBefore()), tasks(edge.getAfter()), edge.getDelay().value_or(0));
    } else if (auto lag = dyn_cast<plan::TimeLagOp>(operation)) {
      p.lags.push_back({tasks(lag.getBefore()), tasks(lag.getAfter()), static_cast<int64_t>(lag.getLag())});
    } else if (auto b = dyn_cast<plan::BufferOp>(operation)) {
      Problem::Buffer buffer;
      buffer.name = b.getName().str();
      buffer.bytes = b.getBytes();
      buffer.memory = memories(b.getMemory());
      if (b.getProducer())
        buffer.producer = tasks(*b.getProducer());
      buffer.persistent = b.getPersistent();
      if (b.getReaders())
        for (auto reader : b.getReaders()->getAsRange<ArrayAttr>())
          buffer.readers.push_back(
              {tasks(cast<StringAttr>(reader[0]).getValue()),
               reader.size() > 1 ? tasks(cast<StringAttr>(reader[1]).getValue()) : Problem::kNoTask});
      p.buffers.push_back(std::move(buffer));
    } else if (auto pair = dyn_cast<plan::PairingOp>(operation)) {
      Problem::Pairing pairing{tasks(pair.getA()), tasks(pair.getB()), {}};
      for (size_t i = 0; i + 1 < pair.getAllowed().size(); i += 2)
        pairing.allowed.push_back({static_cast<Id>(pair.getAllowed()[i]), static_cast<Id>(pair.getAllowed()[i + 1])});
      p.pairings.push_back(std::move(pairing));
    }
  }

  std::vector<Id> list(std::optional<ArrayAttr> names) {
    std::vector<Id> ids;
    if (names)
      for (auto name : names->getAsRange<StringAttr>())
        ids.push_back(tasks(name.getValue()));
    return ids;
  }

  SchedulingResult result(plan::SolutionOp solution, size_t count) {
    SchedulingResult result;
    result.status = valueOf<SchedulingResult::Status>(kVerdictKeywords, solution.getVerdict());
    result.solution.makespan = solution.getMakespan().value_or(0);
    if (auto conflict = solution.getConflict())
      for (auto line : conflict->getAsRange<StringAttr>())
        result.conflict.push_back(line.str());
    result.stopped = solution.getStopped().value_or("").str();
    if (solution.getVerdict() == "feasible") {
      result.solution.start.assign(count, 0);
      result.solution.mode.assign(count, 0);
      for (auto start : solution.getBody().getOps<plan::StartOp>()) {
        Id id = tasks(start.getTask());
        result.solution.start[id] = start.getStart();
        result.solution.mode[id] = start.getMode().value_or(0);
      }
    }
    for (auto lowerBound : solution.getBody().getOps<plan::LowerBoundOp>())
      result.bound = bound(lowerBound);
    return result;
  }

  SchedulingBound bound(plan::LowerBoundOp lowerBound) {
    SchedulingBound bound;
    bound.value = lowerBound.getValue();
    bound.kind = valueOf<SchedulingBound::Kind>(kBoundKeywords, lowerBound.getKind());
    bound.proof = lowerBound.getProof().str();
    bound.tasks = list(lowerBound.getTasks());
    if (lowerBound.getResource())
      bound.resource = resources(*lowerBound.getResource());
    bound.unit = lowerBound.getUnit().value_or(1);
    bound.weights = lowerBound.getWeights().value_or(llvm::ArrayRef<int64_t>());
    if (lowerBound.getSteps().empty())
      return bound;
    for (auto step : lowerBound.getSteps().getOps<plan::StepOp>()) {
      auto rule = valueOf<ProofStep::Rule>(kRuleKeywords, step.getRule());
      bool pair = rule == ProofStep::Rule::Pair;
      bound.steps.push_back({rule, tasks(step.getTask()), pair ? tasks(step.getOther()) : resources(step.getOther()),
                             step.getEarly(), static_cast<int64_t>(step.getTime()),
                             static_cast<int64_t>(step.getBegin().value_or(0)),
                             static_cast<int64_t>(step.getEnd().value_or(0)), list(step.getTasks())});
    }
    return bound;
  }
};

} // namespace

Result<ScheduledProblem> readSchedulingMlir(const std::string &text, const std::string &file) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<plan::PlanDialect>();
  std::optional<Error> first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (!first && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      first = Error{Code::BadPlan, diagnostic.str(), placeOf(diagnostic.getLocation()), {}};
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
  auto failed = [&](const std::string &message) {
    return first ? *first : Error{Code::BadPlan, message, {file, 1, 1}, {}};
  };
  if (!module)
    return failed("this is no text of the plan dialect");
  auto problems = module->getOps<plan::ProblemOp>();
  if (problems.empty())
    return failed("there is no problem here");
  plan::ProblemOp problem = *problems.begin();
  plan::SolutionOp solution;
  for (auto candidate : module->getOps<plan::SolutionOp>())
    if (!solution && candidate.getProblem() == problem.getSymName())
      solution = candidate;
  ScheduledProblem all = Reader().read(problem, solution);
  if (auto errors = check(all.problem); !errors.empty())
    return errors[0];
  return all;
}

} // namespace accord
