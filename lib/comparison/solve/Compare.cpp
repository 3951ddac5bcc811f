#include "lib/comparison/solve/Compare.h"
#include "lib/comparison/solve/Matcher.h"
#include "lib/support/StableSort.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <set>

namespace accord::comparison {
namespace {

class Comparer {
public:
  Comparer(PlannedStep plan, MeasuredStep measured) {
    made.plan = std::move(plan);
    made.measured = std::move(measured);
    made.groups = std::move(made.measured.groups);
    made.measured.groups.clear();
  }

  Comparison run() {
    Matcher matcher(made.plan, made.measured);
    matcher.run();
    if (!made.measured.hasShapes)
      made.notes.push_back(
          "the trace has no shapes (record_shapes=True records them): operations are matched by order");
    llvm::append_range(made.notes, made.measured.notes);
    llvm::append_range(made.notes, matcher.notes);
    makeRows(matcher);
    addMissing(matcher);
    addUpdate();
    groupRest(matcher);
    sortRows();
    if (matchedShare() < 0.5)
      made.notes.push_back(
          fmt::format("{:.0f} % of the time in calls is of operations that the plan has: are model, batch and "
                      "sequence those of the trace?",
                      100 * matchedShare()));
    return std::move(made);
  }

private:
  struct Together {
    std::set<uint32_t> executions, calls;
    MatchKind kind = MatchKind::Name;
  };

  /// Executions and calls that hang together are one part; parts of the same operations are one row.
  void makeRows(const Matcher &matcher) {
    llvm::EquivalenceClasses<int64_t> together;
    auto ofCall = [](uint32_t call) { return -1 - static_cast<int64_t>(call); };
    for (const Link &link : matcher.links())
      together.unionSets(link.execution, ofCall(link.call));
    std::map<int64_t, Together> parts;
    for (const Link &link : matcher.links()) {
      Together &part = parts[*together.findLeader(link.execution)];
      part.executions.insert(link.execution);
      part.calls.insert(link.call);
      part.kind = std::max(part.kind, link.kind);
    }
    for (auto &[leader, part] : parts) {
      std::set<uint32_t> operations;
      for (uint32_t execution : part.executions)
        operations.insert(made.plan.executions[execution].operation);
      Row &row = rowOf({operations.begin(), operations.end()});
      row.match = row.match == MatchKind::None ? part.kind : std::max(row.match, part.kind);
      for (uint32_t execution : part.executions)
        plan(row, execution);
      for (uint32_t call : part.calls)
        measure(row, made.measured.operations[call]);
    }
  }

  Row &rowOf(const std::vector<uint32_t> &operations) {
    auto [at, isNew] = rows.try_emplace(operations, made.rows.size());
    if (isNew)
      made.rows.emplace_back().operations = operations;
    return made.rows[at->second];
  }

  void plan(Row &row, uint32_t execution) {
    const PlannedOperation &op = made.plan.operations[made.plan.executions[execution].operation];
    row.planned += op.seconds;
    row.flops += op.flops;
    row.bytes += op.bytes;
    row.peak = std::max(row.peak, op.peak);
    ++row.executions;
  }

  void measure(Row &row, const MeasuredOperation &call) {
    row.measured += call.seconds;
    row.exposed += call.exposed;
    row.kernels += call.kernels;
    if (row.calls++ == 0)
      row.call = call.name, row.kernel = call.kernel;
    inCalls += call.exposed, inRows += call.exposed;
  }

  /// Executions without a call: beside the row of their operation, or a row of their own.
  void addMissing(const Matcher &matcher) {
    std::map<uint32_t, Row> missing;
    for (uint32_t execution = 0; execution < made.plan.executions.size(); ++execution)
      if (!matcher.isPlanned(execution)) {
        const uint32_t operation = made.plan.executions[execution].operation;
        Row &row = missing[operation];
        row.operations = {operation};
        plan(row, execution);
        ++row.missing;
      }
    for (auto &[operation, row] : missing)
      made.rows.push_back(std::move(row));
  }

  /// The update is one row: optimizers fuse parameters as they like.
  void addUpdate() {
    Row row;
    for (uint32_t i = 0; i < made.plan.operations.size(); ++i) {
      const PlannedOperation &op = made.plan.operations[i];
      if (op.part != Part::Update || op.seconds <= 0)
        continue;
      row.operations.push_back(i);
      const auto times = static_cast<double>(op.executions);
      row.planned += op.seconds * times, row.flops += op.flops * times, row.bytes += op.bytes * times;
      row.peak = std::max(row.peak, op.peak);
      row.executions += op.executions;
    }
    for (const MeasuredOperation &call : made.measured.operations)
      if (call.part == Part::Update)
        measure(row, call);
    if (row.operations.empty() && row.calls == 0)
      return;
    row.match = row.calls > 0 ? MatchKind::Name : MatchKind::None;
    row.missing = row.calls > 0 ? 0 : row.executions;
    made.rows.push_back(std::move(row));
  }

  /// Calls that are no operation of the plan: what has a name as a group, all else is not explained.
  void groupRest(const Matcher &matcher) {
    std::map<std::string, MeasuredGroup> groups;
    std::map<std::tuple<std::string, WorkClass, Part>, Extra> extra;
    auto add = [&](const char *name, const char *about, const MeasuredOperation &call) {
      MeasuredGroup &group = groups[name];
      group.name = name, group.about = about;
      group.seconds += call.exposed;
      ++group.events;
    };
    for (uint32_t i = 0; i < made.measured.operations.size(); ++i) {
      const MeasuredOperation &call = made.measured.operations[i];
      if (matcher.isMeasured(i) || call.part == Part::Update)
        continue;
      inCalls += call.exposed;
      if (call.part == Part::Accumulation)
        add("gradient accumulation", "gradients that are added to, or put into, those of the parameters", call);
      else if (call.work.workClass == WorkClass::Communication)
        add("communication", "collectives that the plan does not have", call);
      else if (call.work.workClass == WorkClass::Copy)
        add("copies", "changes of layout or type that the plan does not have", call);
      else if (call.work.size == 1 && call.work.workClass == WorkClass::ElementWise)
        add("single numbers", "calls on single numbers, as counters of batches", call);
      else if (call.work.workClass == WorkClass::Fill)
        add("fills", "tensors that are set to one number", call);
      else {
        Extra &one = extra[{call.name, call.work.workClass, call.part}];
        if (one.calls++ == 0) {
          one.name = call.name, one.workClass = call.work.workClass, one.part = call.part;
          one.scope = call.scopes.empty() ? "" : call.scopes.back();
        }
        one.exposed += call.exposed;
        made.unexplained += call.exposed;
      }
    }
    for (auto &[name, group] : groups)
      if (group.seconds > 0)
        made.groups.push_back(std::move(group));
    for (auto &[key, one] : extra)
      made.extra.push_back(std::move(one));
    accord::stableSort(made.extra, [](const Extra &a, const Extra &b) { return a.exposed > b.exposed; });
    accord::stableSort(made.groups,
                       [](const MeasuredGroup &a, const MeasuredGroup &b) { return a.seconds > b.seconds; });
  }

  /// In the order of the plan; the update comes last there, too.
  void sortRows() {
    accord::stableSort(made.rows, [](const Row &a, const Row &b) {
      return std::pair(a.operations.empty(), a.operations) < std::pair(b.operations.empty(), b.operations);
    });
  }

  double matchedShare() const { return inCalls > 0 ? inRows / inCalls : 1; }

  Comparison made;
  std::map<std::vector<uint32_t>, size_t> rows;
  double inCalls = 0, inRows = 0; ///< seconds of calls, and of those in rows
};

} // namespace

Comparison compare(PlannedStep plan, MeasuredStep measured) {
  return Comparer(std::move(plan), std::move(measured)).run();
}

} // namespace accord::comparison
