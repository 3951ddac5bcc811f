#include "lib/machine/model/Check.h"
#include "lib/machine/model/Dependences.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Executions of one operation; with 63-bit FLOPs the product stays far below a Count.
constexpr double kMaxExecutions = 1e15;

class Checker {
public:
  explicit Checker(const WorkGraph &graph) : graph_(graph) {}
  Errors run() {
    // Later checks follow ids and parents, so they need the earlier ones to hold.
    for (auto step : {&Checker::ranges, &Checker::regions, &Checker::producers, &Checker::scopes, &Checker::order,
                      &Checker::numbers, &Checker::repeats}) {
      (this->*step)();
      if (!errors_.empty())
        break;
    }
    return std::move(errors_);
  }

private:
  template <typename... T> void report(const SourceLocation &at, fmt::format_string<T...> text, T &&...args) {
    if (errors_.size() < 20)
      errors_.push_back({Code::MalformedGraph, fmt::format(text, std::forward<T>(args)...), at});
  }
  SourceLocation location(OperationId id) const {
    return id < graph_.operations.size() ? graph_.operations[id].location : SourceLocation{};
  }

  void ranges() {
    size_t values = graph_.values.size(), operations = graph_.operations.size(), regions = graph_.regions.size();
    if (regions < 2)
      return report({}, "the graph has {} regions, it needs one for the micro-batch and one for the update", regions);
    if (values >= kNone || operations >= kNone)
      return report({}, "the graph has more than 2^32 - 2 values or operations");
    for (const Value &v : graph_.values)
      if ((v.alias != kNone && v.alias >= values) || (v.region != kNone && v.region >= regions))
        report({}, "value '{}' names an alias or a region that does not exist", v.name);
    for (const Operation &op : graph_.operations) {
      bool good = op.region < regions && (op.body == kNone || op.body < regions);
      for (const auto *ids : {&op.operands, &op.results})
        for (ValueId v : *ids)
          good &= v < values;
      if (!good)
        report(op.location, "operation '{}' names a value or a region that does not exist", op.name);
    }
    for (const Region &region : graph_.regions) {
      bool good =
          (region.parent == kNone || region.parent < regions) && (region.owner == kNone || region.owner < operations);
      for (OperationId id : region.operations)
        good &= id < operations;
      for (const Region::Carried &c : region.carried)
        good &= c.argument < values && c.yielded < values && c.initial < values && c.result < values;
      for (const auto *slices : {&region.stashed, &region.unstashed})
        for (const Region::Slice &s : *slices)
          good &= s.inside < values && s.stacked < values;
      if (!good)
        report({}, "region '{}' names an operation, a value or a region that does not exist", region.name);
    }
  }

  void regions() {
    for (RegionId id = 0; id < graph_.regions.size(); ++id) {
      const Region &region = graph_.regions[id];
      if (id == kMicrobatchRegion || id == kUpdateRegion) {
        if (region.owner != kNone || region.parent != kNone || region.count != 1 || !region.carried.empty() ||
            !region.stashed.empty() || !region.unstashed.empty())
          report(location(region.owner),
                 "region '{}' runs once and belongs to no repeat, found an owner, a count or carried values",
                 region.name);
        continue;
      }
      if (region.owner == kNone || region.parent == kNone || graph_.operations[region.owner].body != id ||
          graph_.operations[region.owner].region != region.parent) {
        report(location(region.owner), "region '{}' is not the body of a repeat in its parent", region.name);
        continue;
      }
      if (region.count < 1)
        report(location(region.owner), "repeat '{}' runs {} times, it has to run at least once", region.name,
               region.count);
      unsigned depth = 0;
      for (RegionId at = id; at != kNone && depth <= kMaxNesting; at = graph_.regions[at].parent)
        ++depth;
      if (depth > kMaxNesting)
        report(location(region.owner), "repeat '{}' is nested more than {} deep", region.name, kMaxNesting);
    }
    std::vector<unsigned> listed(graph_.operations.size());
    for (RegionId id = 0; id < graph_.regions.size(); ++id)
      for (OperationId op : graph_.regions[id].operations) {
        ++listed[op];
        if (graph_.operations[op].region != id)
          report(location(op), "operation '{}' is listed in region '{}', to which it does not belong",
                 graph_.operations[op].name, graph_.regions[id].name);
      }
    for (OperationId id = 0; id < listed.size(); ++id) {
      const Operation &op = graph_.operations[id];
      if (listed[id] != 1)
        report(op.location, "operation '{}' is listed {} times in regions, it has to be once", op.name, listed[id]);
      if (op.body != kNone && graph_.regions[op.body].owner != id)
        report(op.location, "repeat '{}' and its body '{}' disagree on their owner", op.name,
               graph_.regions[op.body].name);
    }
  }

  void producers() {
    std::vector<OperationId> maker(graph_.values.size(), kNone);
    auto make = [&](ValueId v, OperationId id) {
      if (maker[v] != kNone && maker[v] != id)
        report(location(id), "value '{}' is made by '{}' and by '{}'", graph_.values[v].name,
               graph_.operations[maker[v]].name, graph_.operations[id].name);
      maker[v] = id;
    };
    for (OperationId id = 0; id < graph_.operations.size(); ++id) {
      const Operation &op = graph_.operations[id];
      for (ValueId v : op.results)
        make(v, id);
      if (op.body != kNone) {
        for (const Region::Carried &c : graph_.regions[op.body].carried)
          make(c.result, id);
        for (const Region::Slice &s : graph_.regions[op.body].stashed)
          make(s.stacked, id);
      }
    }
    std::vector<bool> argument(graph_.values.size());
    auto bind = [&](ValueId v, const Region &region) {
      if (argument[v] || maker[v] != kNone)
        report(location(region.owner), "argument '{}' of repeat '{}' is bound twice or made by an operation",
               graph_.values[v].name, region.name);
      argument[v] = true;
    };
    for (const Region &region : graph_.regions) {
      for (const Region::Carried &c : region.carried)
        bind(c.argument, region);
      for (const Region::Slice &s : region.unstashed)
        bind(s.inside, region);
    }
    for (ValueId v = 0; v < graph_.values.size(); ++v) {
      size_t steps = 0;
      ValueId at = v;
      for (; at != kNone && steps <= graph_.values.size(); ++steps)
        at = graph_.values[at].alias;
      if (at != kNone)
        return report({}, "value '{}' is a view of itself", graph_.values[v].name);
    }
  }

  /// Whether a value of region `home` may be read in region `at`.
  bool visible(RegionId home, RegionId at) const {
    if (home == kNone)
      return true;
    for (; at != kNone; at = graph_.regions[at].parent)
      if (at == home || (at == kUpdateRegion && home == kMicrobatchRegion))
        return true;
    return false;
  }
  void scopes() {
    auto use = [&](ValueId v, RegionId at, OperationId by) {
      if (!visible(graph_.values[v].region, at))
        report(location(by), "'{}' uses value '{}' of region '{}', which is not around it", graph_.operations[by].name,
               graph_.values[v].name, graph_.regions[graph_.values[v].region].name);
    };
    for (OperationId id = 0; id < graph_.operations.size(); ++id) {
      const Operation &op = graph_.operations[id];
      for (ValueId v : op.operands)
        use(v, op.region, id);
      for (ValueId v : op.results)
        if (graph_.values[v].region != op.region)
          report(op.location, "'{}' makes value '{}', which is stated to be of another region", op.name,
                 graph_.values[v].name);
    }
    for (ValueId v = 0; v < graph_.values.size(); ++v)
      if (ValueId of = graph_.values[v].alias; of != kNone) {
        RegionId region = graph_.values[v].region;
        if (region == kNone ? graph_.values[of].region != kNone : !visible(graph_.values[of].region, region))
          report({}, "value '{}' is a view of '{}', which is in a region that is not around it", graph_.values[v].name,
                 graph_.values[of].name);
      }
    for (RegionId id = 2; id < graph_.regions.size(); ++id) {
      const Region &region = graph_.regions[id];
      auto isIn = [&](ValueId v, RegionId where) {
        if (graph_.values[v].region != where)
          report(location(region.owner), "value '{}' has to be in the {} repeat '{}'", graph_.values[v].name,
                 where == id ? "body of" : "region around", region.name);
      };
      for (const Region::Carried &c : region.carried) {
        isIn(c.argument, id);
        use(c.yielded, id, region.owner);
        use(c.initial, region.parent, region.owner);
        isIn(c.result, region.parent);
      }
      for (const Region::Slice &s : region.stashed) {
        use(s.inside, id, region.owner);
        isIn(s.stacked, region.parent);
      }
      for (const Region::Slice &s : region.unstashed) {
        isIn(s.inside, id);
        use(s.stacked, region.parent, region.owner);
      }
    }
  }

  void order() {
    Dependences d = Dependences::of(graph_);
    std::vector<bool> done(graph_.operations.size());
    for (const Region &region : graph_.regions)
      for (OperationId id : region.operations) {
        for (OperationId before : d.predecessors[id])
          if (!done[before])
            report(location(id), "operation '{}' precedes '{}', whose result it needs", graph_.operations[id].name,
                   graph_.operations[before].name);
        for (ValueId v : d.uses[id])
          if (d.producer[v] == id)
            report(location(id), "operation '{}' needs its own result '{}'", graph_.operations[id].name,
                   graph_.values[v].name);
        for (ValueId result : graph_.operations[id].results)
          view(d, id, result);
        done[id] = true;
      }
  }

  /// A result that is a view shares the storage of an operand.
  void view(const Dependences &d, OperationId id, ValueId result) {
    const Operation &op = graph_.operations[id];
    ValueId of = graph_.values[result].alias;
    if (of == kNone)
      return;
    if (op.body != kNone || llvm::none_of(op.operands, [&](ValueId one) { return d.root[one] == d.root[of]; }))
      report(op.location, "result '{}' of '{}' is a view of '{}', which is no operand", graph_.values[result].name,
             op.name, graph_.values[of].name);
  }

  void numbers() {
    if (graph_.microbatch < 1 || graph_.microbatches < 1 || graph_.parameters < 0)
      report({}, "micro-batch {} and number of micro-batches {} have to be at least 1, parameters {} not negative",
             graph_.microbatch, graph_.microbatches, graph_.parameters);
    long double total = 0, memory = 0;
    for (const Value &v : graph_.values) {
      if (v.bytes < 0 || v.slices < 1)
        report({}, "value '{}' has {} bytes in {} slices", v.name, v.bytes, v.slices);
      memory += v.bytes;
    }
    for (const StaticTensor &r : graph_.staticTensors) {
      if (r.bytes < 0)
        report({}, "'{}' keeps {} bytes of {}", r.name, r.bytes, name(r.category));
      memory += r.bytes;
    }
    for (OperationId id = 0; id < graph_.operations.size(); ++id) {
      const Operation &op = graph_.operations[id];
      long double times = op.region == kUpdateRegion ? 1 : graph_.microbatches;
      for (RegionId at = op.region; at != kNone; at = graph_.regions[at].parent)
        times *= graph_.regions[at].count;
      if (op.flops < 0 || op.bytesRead < 0 || op.bytesWritten < 0)
        report(op.location, "operation '{}' has negative work: {} FLOP, {} B read, {} B written", op.name, op.flops,
               op.bytesRead, op.bytesWritten);
      for (const Loop &loop : op.domain)
        if (loop.extent < 0)
          report(op.location, "a loop of operation '{}' has extent {}", op.name, loop.extent);
      if (op.core == CoreKind::None && op.body == kNone && op.flops != 0)
        report(op.location, "operation '{}' wants no core, but has {} FLOP", op.name, op.flops);
      if (times > kMaxExecutions)
        report(op.location, "operation '{}' runs more than {:.0e} times in a step", op.name, kMaxExecutions);
      total += times * (0.0L + op.flops + op.bytesRead + op.bytesWritten);
    }
    if (total > 1e37L)
      report({}, "the step has more than 1e37 FLOPs and bytes");
    if (memory > 4e18L)
      report({}, "the values and static tensors have more than 4e18 bytes");
  }

  void repeats() {
    auto slices = [&](const Region &region, const Region::Slice &s) {
      const Value &stack = graph_.values[s.stacked];
      if (stack.slices != region.count || stack.bytes % stack.slices != 0)
        report(location(region.owner), "stack '{}' has {} B in {} slices, repeat '{}' runs {} times", stack.name,
               stack.bytes, stack.slices, region.name, region.count);
      else if (int64_t one = graph_.values[s.inside].bytes; one != stack.bytes / stack.slices)
        report(location(region.owner), "a slice of stack '{}' has {} B, '{}' has {} B", stack.name,
               stack.bytes / stack.slices, graph_.values[s.inside].name, one);
    };
    for (const Region &region : graph_.regions) {
      for (const auto *all : {&region.stashed, &region.unstashed})
        for (const Region::Slice &s : *all)
          slices(region, s);
      for (const Region::Carried &c : region.carried) {
        int64_t bytes = graph_.values[c.argument].bytes;
        for (ValueId v : {c.yielded, c.initial, c.result})
          if (graph_.values[v].bytes != bytes)
            report(location(region.owner), "repeat '{}' carries '{}' of {} B, but '{}' has {} B", region.name,
                   graph_.values[c.argument].name, bytes, graph_.values[v].name, graph_.values[v].bytes);
      }
    }
  }

  const WorkGraph &graph_;
  Errors errors_;
};

} // namespace

Errors check(const WorkGraph &graph) { return Checker(graph).run(); }

Errors check(const Machine &machine) {
  Errors errors;
  auto report = [&](std::string text) {
    errors.push_back({Code::MalformedMachine, std::move(text), machine.location});
  };
  auto number = [&](const std::string &what, double value) {
    if (!(value >= 0) || !std::isfinite(value))
      report(fmt::format("{} of '{}' is {}, it has to be finite and not negative", what, machine.name, value));
  };
  number("clock", machine.clock.value);
  number("idle power", machine.idle.value);
  // Sums over a step and what follows from them stay finite below this.
  constexpr double kMaxJoules = 1e30, kMaxSquareMetres = 1e12;
  auto upTo = [&](const std::string &what, double value, double max, const char *unit) {
    number(what, value);
    if (value > max && std::isfinite(value))
      report(fmt::format("{} of '{}' is {:g} {}, and no machine has more than {:g}", what, machine.name, value, unit,
                         max));
  };
  upTo("energy per FLOP", machine.energyPerFlop.value, kMaxJoules, "J");
  for (const auto &[type, energy] : machine.energyPerFlopOf)
    upTo("energy per FLOP in " + type, energy.value, kMaxJoules, "J");
  upTo("area", machine.area.value, kMaxSquareMetres, "m2");
  number("bandwidth from the host", machine.hostBandwidth.value);
  if (machine.memories.empty())
    report(fmt::format("'{}' has no memory", machine.name));
  for (const Memory &m : machine.memories) {
    number("capacity of memory '" + m.name + "'", m.capacity.value);
    number("bandwidth of memory '" + m.name + "'", m.bandwidth.value);
    number("latency of memory '" + m.name + "'", m.latency.value);
    upTo("energy of memory '" + m.name + "'", m.energy.value, kMaxJoules, "J/B");
    number("sector of memory '" + m.name + "'", m.sector.value);
  }
  for (const Core &c : machine.cores) {
    if (c.count < 1 || c.rows < 0 || c.cols < 0 || c.lanes < 0)
      report(fmt::format("core '{}' of '{}' has count {}, array {} x {}, lanes {}", c.name, machine.name, c.count,
                         c.rows, c.cols, c.lanes));
    if (c.reads < -1 || std::cmp_greater_equal(c.reads, machine.memories.size()))
      report(fmt::format("core '{}' of '{}' reads memory {} of {}", c.name, machine.name, c.reads,
                         machine.memories.size()));
    if (!(c.efficiency > 0 && c.efficiency <= 1))
      report(fmt::format("efficiency of core '{}' is {}, it has to be above 0 and at most 1", c.name, c.efficiency));
    for (const auto &[type, peak] : c.peak)
      number("peak of core '" + c.name + "' for " + type, peak.value);
  }
  return errors;
}

} // namespace accord
