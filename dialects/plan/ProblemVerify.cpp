// Proves again, from the text alone, what a schedule claims to respect: names, orders, resources.
#include "dialects/interfaces/Note.h"
#include "dialects/plan/PlanDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <utility>

using namespace mlir;
using accord::note;
using namespace accord::plan;

using Wide = __int128;

/// For messages.
static int64_t shown(Wide value) { return value < INT64_MAX ? static_cast<int64_t>(value) : INT64_MAX; }

static bool amountsAreWhole(DictionaryAttr mode, StringRef what) {
  Attribute given = mode.get(what);
  auto list = dyn_cast_or_null<ArrayAttr>(given);
  if (!list)
    return !given;
  return !list.empty() && llvm::all_of(list, [](Attribute entry) {
    auto use = dyn_cast<ArrayAttr>(entry);
    auto amount = use && use.size() == 2 ? dyn_cast<IntegerAttr>(use[1]) : IntegerAttr();
    return amount && isa<StringAttr>(use[0]) && amount.getType().isInteger(64) && amount.getInt() >= 0;
  });
}

LogicalResult TaskOp::verify() {
  if (getModes().empty())
    return emitOpError() << "'" << getName() << "' has no mode";
  for (auto [number, attribute] : llvm::enumerate(getModes())) {
    auto mode = dyn_cast<DictionaryAttr>(attribute);
    auto wrong = [&]() { return emitOpError() << "'" << getName() << "': mode " << number << " "; };
    if (!mode || (mode.contains("name") && !mode.getAs<StringAttr>("name")))
      return wrong() << "is no mode";
    if (mode.contains("absent")) {
      if (mode.contains("duration") || mode.contains("uses") || mode.contains("consumes"))
        return wrong() << "does not happen, and yet takes something";
      continue;
    }
    auto duration = mode.getAs<IntegerAttr>("duration");
    if (!duration || !duration.getType().isInteger(64) || duration.getInt() < 0)
      return wrong() << "needs a duration of 0 or more";
    if (!amountsAreWhole(mode, "uses") || !amountsAreWhole(mode, "consumes"))
      return wrong() << "takes an amount that is not 0 or more";
  }
  return success();
}

LogicalResult BufferOp::verify() {
  if (!getReaders())
    return success();
  bool whole = !getReaders()->empty() && llvm::all_of(*getReaders(), [](Attribute entry) {
    auto reader = dyn_cast<ArrayAttr>(entry);
    return reader && (reader.size() == 1 || reader.size() == 2) &&
           llvm::all_of(reader, [](Attribute name) { return isa<StringAttr>(name); });
  });
  return whole ? success() : emitOpError() << "'" << getName() << "' has a reader that is no task";
}

LogicalResult PairingOp::verify() {
  if (getAllowed().size() % 2 || llvm::any_of(getAllowed(), [](int64_t m) { return m < 0; }))
    return emitOpError() << "allows pairs of modes by number";
  return success();
}

namespace {

/// Things of one kind by name; where names are missing or alike by "#number".
template <typename Op> struct Names {
  SmallVector<Op> all;
  llvm::StringMap<int> byName; ///< -1: several

  explicit Names(ProblemOp problem) {
    for (Op op : problem.getBody().template getOps<Op>()) {
      auto [place, fresh] = byName.try_emplace(op.getName(), all.size());
      if (!fresh)
        place->second = -1;
      all.push_back(op);
    }
  }
  Op find(StringRef name) const {
    unsigned number = 0;
    if (name.consume_front("#"))
      return !name.getAsInteger(10, number) && number < all.size() ? all[number] : Op();
    auto found = byName.find(name);
    return found == byName.end() || found->second < 0 ? Op() : all[found->second];
  }
};

DictionaryAttr modeOf(TaskOp task, StartOp start) {
  return cast<DictionaryAttr>(task.getModes()[start.getMode().value_or(0)]);
}
int64_t durationOf(DictionaryAttr mode) {
  auto duration = mode.getAs<IntegerAttr>("duration");
  return duration ? duration.getInt() : 0;
}

/// Names that lead nowhere.
class ProblemCheck {
public:
  explicit ProblemCheck(ProblemOp problem)
      : problem(problem), tasks(problem), resources(problem), budgets(problem), memories(problem) {}

  LogicalResult run() {
    for (TaskOp task : tasks.all)
      for (auto mode : task.getModes().getAsRange<DictionaryAttr>())
        if (failed(amounts(task, mode, "uses", "resource", resources)) ||
            failed(amounts(task, mode, "consumes", "budget", budgets)))
          return failure();
    for (Operation &operation : problem.getBody().front()) {
      if (auto p = dyn_cast<PrecedenceOp>(operation);
          p && (failed(known(p, p.getBefore())) || failed(known(p, p.getAfter()))))
        return failure();
      if (auto l = dyn_cast<TimeLagOp>(operation);
          l && (failed(known(l, l.getBefore())) || failed(known(l, l.getAfter()))))
        return failure();
      if (auto b = dyn_cast<BufferOp>(operation); b && failed(buffer(b)))
        return failure();
      if (auto p = dyn_cast<PairingOp>(operation); p && failed(pairing(p)))
        return failure();
    }
    return success();
  }

private:
  ProblemOp problem;
  Names<TaskOp> tasks;
  Names<ResourceOp> resources;
  Names<BudgetOp> budgets;
  Names<MemoryOp> memories;

  LogicalResult known(Operation *at, StringRef task) {
    if (tasks.find(task))
      return success();
    return at->emitError() << "'" << task << "' is no task of this problem, or several";
  }

  template <typename Op>
  LogicalResult amounts(TaskOp task, DictionaryAttr mode, StringRef what, StringRef kind, const Names<Op> &names) {
    auto list = mode.getAs<ArrayAttr>(what);
    if (!list)
      return success();
    for (auto use : list.template getAsRange<ArrayAttr>())
      if (StringRef name = cast<StringAttr>(use[0]).getValue(); !names.find(name))
        return task.emitError() << "'" << task.getName() << "' " << what << " '" << name << "', which is no " << kind
                                << " of this problem, or several";
    return success();
  }

  LogicalResult buffer(BufferOp b) {
    if (!memories.find(b.getMemory()))
      return b.emitError() << "'" << b.getName() << "' is in '" << b.getMemory()
                           << "', which is no memory of this problem, or several";
    if (b.getProducer() && failed(known(b, *b.getProducer())))
      return failure();
    if (b.getReaders())
      for (auto reader : b.getReaders()->getAsRange<ArrayAttr>())
        for (auto name : reader.getAsRange<StringAttr>())
          if (failed(known(b, name)))
            return failure();
    return success();
  }

  LogicalResult pairing(PairingOp p) {
    for (StringRef name : {p.getA(), p.getB()})
      if (failed(known(p, name)))
        return failure();
    for (auto [place, mode] : llvm::enumerate(p.getAllowed())) {
      TaskOp task = tasks.find(place % 2 ? p.getB() : p.getA());
      if (std::cmp_less(mode, task.getModes().size()))
        continue;
      return p.emitError() << "mode " << mode << " of '" << task.getName() << "', which has " << task.getModes().size()
                           << note(task.getLoc(), "'", task.getName(), "' is here");
    }
    return success();
  }
};

class SolutionCheck {
public:
  SolutionCheck(SolutionOp solution, ProblemOp problem)
      : solution(solution), tasks(problem), resources(problem), problem(problem) {}

  LogicalResult run() {
    return success(succeeded(collect()) && succeeded(order()) && succeeded(lags()) && succeeded(sharing()) &&
                   succeeded(length()));
  }

private:
  SolutionOp solution;
  Names<TaskOp> tasks;
  Names<ResourceOp> resources;
  ProblemOp problem;
  llvm::MapVector<Operation *, StartOp> starts;

  Wide end(TaskOp task) {
    StartOp start = starts.lookup(task);
    return Wide(start.getStart()) + durationOf(modeOf(task, start));
  }

  LogicalResult collect() {
    for (StartOp start : solution.getBody().getOps<StartOp>()) {
      TaskOp task = tasks.find(start.getTask());
      if (!task)
        return start.emitError() << "'" << start.getTask() << "' is no task of the problem, or several";
      if (start.getMode().value_or(0) >= task.getModes().size())
        return start.emitError() << "mode " << start.getMode().value_or(0) << " of '" << task.getName()
                                 << "', which has " << task.getModes().size()
                                 << note(task.getLoc(), "'", task.getName(), "' is here");
      auto [place, fresh] = starts.insert({task, start});
      if (!fresh)
        return start.emitError() << "'" << task.getName() << "' starts twice"
                                 << note(place->second.getLoc(), "the first start is here");
    }
    if (solution.getVerdict() == "feasible")
      for (TaskOp task : tasks.all)
        if (!starts.count(task))
          return solution.emitError() << "'" << task.getName() << "' never starts"
                                      << note(task.getLoc(), "'", task.getName(), "' is here");
    return success();
  }

  bool happens(TaskOp task) {
    StartOp start = starts.lookup(task);
    return start && !modeOf(task, start).contains("absent");
  }

  LogicalResult order() {
    for (PrecedenceOp p : problem.getBody().getOps<PrecedenceOp>()) {
      TaskOp before = tasks.find(p.getBefore()), after = tasks.find(p.getAfter());
      if (!before || !after || !happens(before) || !happens(after))
        continue;
      Wide ready = end(before) + p.getDelay().value_or(0);
      StartOp start = starts.lookup(after);
      if (Wide(start.getStart()) >= ready)
        continue;
      return start.emitError() << "'" << after.getName() << "' starts at " << start.getStart() << " but may start at "
                               << shown(ready) << ", after '" << before.getName() << "'"
                               << note(starts.lookup(before).getLoc(), "'", before.getName(), "' ends at ",
                                       shown(end(before)))
                               << note(p.getLoc(), "the precedence is here");
    }
    return success();
  }

  LogicalResult lags() {
    for (TimeLagOp lag : problem.getBody().getOps<TimeLagOp>()) {
      TaskOp before = tasks.find(lag.getBefore()), after = tasks.find(lag.getAfter());
      if (!before || !after || !happens(before) || !happens(after))
        continue;
      StartOp from = starts.lookup(before), start = starts.lookup(after);
      Wide ready = Wide(from.getStart()) + static_cast<int64_t>(lag.getLag());
      if (Wide(start.getStart()) < ready)
        return start.emitError() << "'" << after.getName() << "' starts at " << start.getStart()
                                 << ", and the time lag from '" << before.getName() << "' allows " << shown(ready)
                                 << note(from.getLoc(), "'", before.getName(), "' starts here")
                                 << note(lag.getLoc(), "the time lag is here");
    }
    return success();
  }

  LogicalResult sharing() {
    for (ResourceOp resource : resources.all) {
      std::multimap<std::pair<Wide, bool>, std::pair<StartOp, int64_t>> events; // ends come first
      for (auto [operation, start] : starts) {
        auto task = cast<TaskOp>(operation);
        auto uses = modeOf(task, start).getAs<ArrayAttr>("uses");
        if (!uses || durationOf(modeOf(task, start)) == 0)
          continue;
        for (auto use : uses.getAsRange<ArrayAttr>())
          if (resources.find(cast<StringAttr>(use[0]).getValue()) == resource) {
            int64_t amount = cast<IntegerAttr>(use[1]).getInt();
            events.insert({{Wide(start.getStart()), true}, {start, amount}});
            events.insert({{end(task), false}, {start, -amount}});
          }
      }
      Wide taken = 0;
      for (auto &[when, what] : events) {
        taken += what.second;
        if (taken <= Wide(resource.getCapacity()))
          continue;
        return what.first.emitError() << "'" << what.first.getTask() << "' brings '" << resource.getName() << "' to "
                                      << shown(taken) << " of " << resource.getCapacity() << " at " << shown(when.first)
                                      << note(resource.getLoc(), "'", resource.getName(), "' is here");
      }
    }
    return success();
  }

  LogicalResult length() {
    Wide last = 0;
    for (auto [task, start] : starts)
      last = std::max(last, end(cast<TaskOp>(task)));
    if (solution.getMakespan() && last != Wide(*solution.getMakespan()))
      return solution.emitError() << "the makespan is given as " << *solution.getMakespan()
                                  << ", but the last task ends at " << shown(last);
    for (LowerBoundOp lowerBound : solution.getBody().getOps<LowerBoundOp>())
      if (solution.getMakespan() && lowerBound.getValue() > *solution.getMakespan())
        return lowerBound.emitError() << "no schedule takes less than " << lowerBound.getValue()
                                      << ", it says, but this one takes " << *solution.getMakespan()
                                      << note(solution.getLoc(), "the schedule is here");
    return success();
  }
};

} // namespace

LogicalResult ProblemOp::verifyRegions() { return ProblemCheck(*this).run(); }

LogicalResult SolutionOp::verify() {
  if (!llvm::is_contained({"feasible", "infeasible", "unknown"}, getVerdict()))
    return emitOpError() << "is 'feasible', 'infeasible' or 'unknown', found '" << getVerdict() << "'";
  if ((getVerdict() == "feasible") != getMakespan().has_value())
    return emitOpError() << "has a makespan exactly if it is feasible";
  return success();
}

LogicalResult SolutionOp::verifyRegions() {
  auto problem = SymbolTable::lookupNearestSymbolFrom<ProblemOp>(*this, getProblemAttr());
  if (!problem)
    return emitError() << "'" << getProblem() << "' is no problem here";
  // Of a problem whose names lead nowhere that alone is said, at its place.
  {
    ScopedDiagnosticHandler silent(getContext(), [](Diagnostic &) { return success(); });
    if (failed(problem.verifyInvariants()) || failed(ProblemCheck(problem).run()))
      return success();
  }
  return SolutionCheck(*this, problem).run();
}

LogicalResult LowerBoundOp::verify() {
  if (!llvm::is_contained({"trivial", "path", "set", "windows", "solver", "budgets", "subsets", "cycle"}, getKind()))
    return emitOpError()
           << "is proved by 'trivial', 'path', 'set', 'windows', 'solver', 'budgets', 'subsets' or 'cycle', found '"
           << getKind() << "'";
  if (getUnit() && (*getUnit() == 0 || (getKind() != "solver" && getKind() != "subsets")))
    return emitOpError() << "counts in units of 1 or more, which only those of a solver or of subsets do";
  if (getWeights().value_or(ArrayRef<int64_t>()).size() != (getKind() == "subsets" ? getTasks()->size() : 0))
    return emitOpError() << "has a weight for each of its tasks where it is proved by subsets, found "
                         << getWeights().value_or(ArrayRef<int64_t>()).size();
  return success();
}

LogicalResult StepOp::verify() {
  if (!llvm::is_contained({"chain", "pair", "compulsory", "energy", "set"}, getRule()))
    return emitOpError() << "follows from 'chain', 'pair', 'compulsory', 'energy' or 'set', found '" << getRule()
                         << "'";
  return success();
}
