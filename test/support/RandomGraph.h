// Small work graphs, drawn at random or built by hand, and their full unrolling, for tests of
// algorithms on hierarchical graphs.
#pragma once
#include "lib/machine/model/Check.h"
#include "lib/machine/model/Plan.h"
#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace accord::testing {

class GraphBuilder {
public:
  WorkGraph graph;
  GraphBuilder() {
    graph.model = "random";
    graph.regions.resize(2);
    graph.regions[0].name = "microbatch";
    graph.regions[1].name = "update";
  }
  ValueId value(RegionId region, int64_t bytes, Category category = Category::Activations) {
    Value v;
    v.name = "v" + std::to_string(graph.values.size());
    v.bytes = bytes;
    v.category = category;
    v.region = region;
    graph.values.push_back(v);
    return static_cast<ValueId>(graph.values.size()) - 1;
  }
  OperationId operation(RegionId region, std::vector<ValueId> operands, std::vector<ValueId> results,
                        CoreKind core = CoreKind::Vector, int64_t flops = 1000, int64_t bytes = 100) {
    Operation op;
    op.name = "op" + std::to_string(graph.operations.size());
    op.kind = core == CoreKind::None ? "reshape" : core == CoreKind::Tensor ? "linear" : "add";
    op.core = core;
    op.contraction = core == CoreKind::Tensor;
    op.flops = core == CoreKind::None ? 0 : flops;
    op.bytesRead = core == CoreKind::None ? 0 : bytes;
    op.bytesWritten = core == CoreKind::None ? 0 : bytes / 2;
    op.operands = std::move(operands);
    op.results = std::move(results);
    op.region = region;
    op.phase = region == kUpdateRegion ? Phase::Update : Phase::Forward;
    graph.operations.push_back(op);
    auto id = static_cast<OperationId>(graph.operations.size()) - 1;
    graph.regions[region].operations.push_back(id);
    return id;
  }
  OperationId repeat(RegionId parent, int64_t count) {
    OperationId id = operation(parent, {}, {}, CoreKind::None);
    auto body = static_cast<RegionId>(graph.regions.size());
    graph.regions.emplace_back();
    graph.regions[body].name = graph.operations[id].name;
    graph.regions[body].count = count;
    graph.regions[body].parent = parent;
    graph.regions[body].owner = id;
    graph.operations[id].kind = "repeat";
    graph.operations[id].body = body;
    return id;
  }
  ValueId carry(OperationId repeat, ValueId initial) {
    RegionId body = graph.operations[repeat].body;
    ValueId argument = value(body, graph.values[initial].bytes);
    graph.operations[repeat].operands.push_back(initial);
    graph.regions[body].carried.push_back({argument, argument, initial, kNone});
    return argument;
  }
  /// Ends the repeat's definition: what the k-th carried value yields.
  ValueId yield(OperationId repeat, size_t k, ValueId yielded) {
    Region::Carried &c = graph.regions[graph.operations[repeat].body].carried[k];
    c.yielded = yielded;
    ValueId result = value(graph.operations[repeat].region, graph.values[yielded].bytes);
    graph.regions[graph.operations[repeat].body].carried[k].result = result;
    graph.operations[repeat].results.push_back(result);
    return result;
  }
  ValueId stash(OperationId repeat, ValueId inside) {
    Region &body = graph.regions[graph.operations[repeat].body];
    int64_t count = body.count;
    ValueId stacked = value(graph.operations[repeat].region, count * graph.values[inside].bytes);
    graph.values[stacked].slices = count;
    graph.regions[graph.operations[repeat].body].stashed.push_back({inside, stacked});
    graph.operations[repeat].results.push_back(stacked);
    return stacked;
  }
  ValueId unstash(OperationId repeat, ValueId stacked) {
    RegionId body = graph.operations[repeat].body;
    ValueId inside = value(body, graph.values[stacked].bytes / graph.values[stacked].slices);
    graph.values[inside].alias = stacked;
    graph.operations[repeat].operands.push_back(stacked);
    graph.regions[body].unstashed.push_back({inside, stacked});
    return inside;
  }
};

struct Shape {
  unsigned depth = 2;
  int64_t maxIterations = 7;
  bool stashes = true;
  bool repeats = true;
};

class RandomGraph : public GraphBuilder {
public:
  RandomGraph(unsigned seed, Shape shape) : random_(seed), shape_(shape) {
    graph.microbatches = pick(1, 3);
    ValueId input = value(0, 8 * pick(1, 9), Category::Inputs);
    ValueId weight = value(0, 0, Category::Weights);
    graph.staticTensors.push_back({"w", Category::Weights, 64});
    fill(0, shape.depth, {input, weight});
    ValueId state = value(1, 0, Category::OptimizerStates);
    fill(1, 0, {state});
  }
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

private:
  ValueId any(const std::vector<ValueId> &from) {
    return from[static_cast<size_t>(pick(0, static_cast<int64_t>(from.size()) - 1))];
  }

  std::vector<ValueId> fill(RegionId region, unsigned depth, std::vector<ValueId> visible) {
    std::vector<ValueId> stacks, own;
    auto made = [&](ValueId v) {
      visible.push_back(v);
      own.push_back(v);
    };
    for (int64_t n = pick(2, 6); n > 0; --n) {
      int64_t what = pick(0, 9);
      if (what == 0) {
        ValueId of = any(visible), view = value(region, graph.values[of].bytes);
        graph.values[view].alias = of;
        graph.values[view].category = graph.values[of].category;
        operation(region, {of}, {view}, CoreKind::None);
        made(view);
      } else if (what == 9 && shape_.stashes && depth > 0 && !own.empty()) {
        takeApart(region, any(visible), stacks);
      } else if (what <= 3 && depth > 0 && shape_.repeats && !own.empty()) {
        repeatIn(region, depth, visible, stacks, made);
      } else {
        std::vector<ValueId> operands;
        for (int64_t k = pick(1, 3); k > 0; --k)
          operands.push_back(any(visible));
        std::vector<ValueId> results;
        for (int64_t k = pick(1, 2); k > 0; --k)
          results.push_back(value(region, 8 * pick(0, 9)));
        operation(region, operands, results, pick(0, 1) ? CoreKind::Tensor : CoreKind::Vector, pick(1, 50) * 1000,
                  pick(0, 5) * 1000);
        for (ValueId v : results)
          made(v);
      }
    }
    return own;
  }

  /// A tensor as slices for a repeat: a view; and perhaps what a repeat stashed as a tensor, which
  /// is then taken apart again.
  void takeApart(RegionId region, ValueId of, std::vector<ValueId> &stacks) {
    if (!stacks.empty() && pick(0, 1)) {
      ValueId stack = stacks.back(), whole = value(region, graph.values[stack].bytes);
      graph.values[whole].alias = stack;
      graph.values[whole].category = graph.values[stack].category;
      operation(region, {stack}, {whole}, CoreKind::None);
      if (pick(0, 1))
        operation(region, {whole}, {value(region, 8)}, CoreKind::Vector, 1000, 1000);
      ValueId again = value(region, graph.values[stack].bytes);
      graph.values[again].alias = whole;
      graph.values[again].category = graph.values[stack].category;
      graph.values[again].slices = graph.values[stack].slices;
      operation(region, {whole}, {again}, CoreKind::None);
      stacks.back() = again;
      return;
    }
    int64_t count = pick(1, shape_.maxIterations);
    if (graph.values[of].slices != 1 || graph.values[of].bytes % count ||
        graph.values[of].category == Category::Weights)
      return;
    ValueId slices = value(region, graph.values[of].bytes);
    graph.values[slices].alias = of;
    graph.values[slices].category = graph.values[of].category;
    graph.values[slices].slices = count;
    operation(region, {of}, {slices}, CoreKind::None);
    stacks.push_back(slices);
  }

  template <typename Made>
  void repeatIn(RegionId region, unsigned depth, const std::vector<ValueId> &visible, std::vector<ValueId> &stacks,
                Made made) {
    std::vector<ValueId> consumed; // one stack, or all of the same length
    if (!stacks.empty() && pick(0, 2) > 0) {
      int64_t slices = graph.values[stacks.back()].slices;
      bool all = pick(0, 1);
      do {
        consumed.push_back(stacks.back());
        stacks.pop_back();
      } while (all && !stacks.empty() && graph.values[stacks.back()].slices == slices);
    }
    OperationId id =
        repeat(region, !consumed.empty() ? graph.values[consumed[0]].slices : pick(1, shape_.maxIterations));
    RegionId body = graph.operations[id].body;
    graph.regions[body].reverse = pick(0, 1);
    std::vector<ValueId> inside = visible, arguments;
    for (int64_t k = pick(0, 2); k > 0; --k) {
      ValueId initial = any(visible);
      if (graph.values[initial].category != Category::Weights && graph.values[initial].slices == 1)
        arguments.push_back(carry(id, initial));
    }
    inside.insert(inside.end(), arguments.begin(), arguments.end());
    for (ValueId stack : consumed)
      inside.push_back(unstash(id, stack));
    std::vector<ValueId> own = fill(body, depth - 1, inside);
    for (size_t k = 0; k < arguments.size(); ++k) {
      std::vector<ValueId> fitting{arguments[k]};
      for (ValueId v : own)
        if (graph.values[v].bytes == graph.values[arguments[k]].bytes && graph.values[v].slices == 1)
          fitting.insert(fitting.end(), 3, v);
      if (fitting.size() == 1) { // make one of the right size
        ValueId next = value(body, graph.values[arguments[k]].bytes);
        operation(body, {arguments[k], any(own)}, {next}, CoreKind::Vector, pick(1, 50) * 1000, 0);
        fitting.push_back(next);
        fitting.erase(fitting.begin());
      }
      ValueId yielded = any(fitting);
      made(yield(id, k, yielded));
      // A residual block keeps what it starts from and what it ends with: the same storage, an
      // iteration apart.
      if (shape_.stashes && pick(0, 2) == 0)
        for (ValueId kept : {arguments[k], yielded})
          if (graph.values[kept].category == Category::Activations && graph.values[kept].slices == 1)
            stacks.push_back(stash(id, kept));
    }
    if (shape_.stashes)
      for (int64_t k = pick(0, 2); k > 0; --k) {
        ValueId v = pick(0, 3) == 0 && !arguments.empty() ? any(arguments) : any(own);
        if (graph.values[v].category == Category::Activations && graph.values[v].slices == 1)
          stacks.push_back(stash(id, v));
      }
  }

  std::mt19937 random_;
  Shape shape_;
};

/// Everything written out: one node per execution, one storage per live tensor.
struct Flat {
  struct Node {
    OperationId operation;
    int64_t start; ///< by the schedule
    int64_t duration;
    std::set<int> before;
  };
  struct Tensor {
    int node;    ///< that makes it, -1: there from `since`
    int storage; ///< -1: a resident
  };
  struct Storage {
    int64_t bytes, from, to;
  };
  std::vector<Node> nodes;
  std::vector<Storage> storages;

  Flat(const WorkGraph &graph, const Schedule &schedule, const std::vector<Picoseconds> &durations)
      : graph_(graph), schedule_(schedule), durations_(durations) {
    Environment empty;
    expand(0, 0, empty);
    split = nodes.size();
    expand(1, schedule.regions[0].length.value * graph.microbatches, empty);
  }
  size_t split = 0; ///< nodes before it are of the micro-batch

  std::vector<int64_t> longestTo() const { ///< end of each node with unlimited cores
    std::vector<int64_t> end(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      int64_t start = 0;
      for (int b : nodes[i].before)
        start = std::max(start, end[b]);
      end[i] = start + nodes[i].duration;
    }
    return end;
  }
  std::vector<int64_t> longestFrom() const { ///< from the start of each node to the end
    std::vector<int64_t> tail(nodes.size()), whole(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      whole[i] = nodes[i].duration + tail[i];
      for (int b : nodes[i].before)
        tail[b] = std::max(tail[b], whole[i]);
    }
    return whole;
  }
  int64_t peak() const {
    std::map<int64_t, int64_t> change;
    int64_t now = 0;
    for (const StaticTensor &r : graph_.staticTensors)
      now += r.bytes;
    for (const Storage &s : storages)
      if (s.to > s.from) {
        change[s.from] += s.bytes;
        change[s.to] -= s.bytes;
      }
    int64_t max = now;
    for (auto [time, bytes] : change)
      max = std::max(max, now += bytes);
    return max;
  }

private:
  /// A stack holds one tensor per iteration; a plain value one.
  using Environment = std::map<ValueId, std::vector<Tensor>>;

  std::vector<Tensor> *lookup(Environment &env, ValueId v) {
    for (;;) {
      if (auto it = env.find(v); it != env.end())
        return &it->second;
      if (graph_.values[v].alias == kNone)
        return nullptr;
      v = graph_.values[v].alias;
    }
  }
  Tensor fresh(ValueId v, int node, int64_t at) {
    if (graph_.values[v].category == Category::Weights || graph_.values[v].category == Category::OptimizerStates)
      return {node, -1};
    storages.push_back({graph_.values[v].bytes, at, at});
    return {node, static_cast<int>(storages.size()) - 1};
  }

  void expand(RegionId r, int64_t at, Environment &env) {
    std::map<OperationId, int64_t> starts;
    for (const Slot &s : schedule_.regions[r].slots)
      starts[s.operation] = s.start.value;
    std::set<ValueId> results;
    for (const Operation &op : graph_.operations)
      results.insert(op.results.begin(), op.results.end());
    for (ValueId v = 0; v < graph_.values.size(); ++v)
      if (graph_.values[v].region == r && !results.count(v) && !env.count(v) && graph_.values[v].alias == kNone)
        env[v] = {fresh(v, -1, at)};
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      int64_t start = at + starts[id];
      if (op.body != kNone) {
        unroll(op, start, env);
        continue;
      }
      int node = static_cast<int>(nodes.size());
      nodes.push_back({id, start, durations_[id].value, {}});
      for (ValueId v : op.operands)
        for (Tensor &t : *lookup(env, v)) {
          if (t.node >= 0)
            nodes[node].before.insert(t.node);
          if (t.storage >= 0 && op.core != CoreKind::None)
            storages[t.storage].to = std::max(storages[t.storage].to, start + durations_[id].value);
        }
      for (ValueId v : op.results) {
        if (graph_.values[v].alias != kNone) {
          std::vector<Tensor> same = *lookup(env, graph_.values[v].alias);
          for (Tensor &t : same)
            t.node = node;
          env[v] = same;
        } else {
          env[v] = {fresh(v, node, start)};
          if (env[v][0].storage >= 0)
            storages[env[v][0].storage].to = start + durations_[id].value;
        }
      }
    }
  }

  void unroll(const Operation &op, int64_t start, Environment &env) {
    const Region &body = graph_.regions[op.body];
    std::vector<std::vector<Tensor>> carried, stacks(body.stashed.size());
    for (const auto &c : body.carried)
      carried.push_back(*lookup(env, c.initial));
    for (int64_t i = 0; i < body.count; ++i) {
      Environment inner = env;
      for (size_t k = 0; k < carried.size(); ++k)
        inner[body.carried[k].argument] = carried[k];
      for (const auto &s : body.unstashed)
        inner[s.inside] = {slice(*lookup(env, s.stacked), body.reverse ? body.count - 1 - i : i)};
      expand(op.body, start + i * schedule_.regions[op.body].length.value, inner);
      for (size_t k = 0; k < carried.size(); ++k)
        carried[k] = *lookup(inner, body.carried[k].yielded);
      for (size_t k = 0; k < stacks.size(); ++k)
        stacks[k].push_back(lookup(inner, body.stashed[k].inside)->at(0));
    }
    for (size_t k = 0; k < carried.size(); ++k)
      env[body.carried[k].result] = carried[k];
    for (size_t k = 0; k < stacks.size(); ++k) {
      if (body.reverse) // slices are found by iteration
        std::reverse(stacks[k].begin(), stacks[k].end());
      env[body.stashed[k].stacked] = stacks[k];
    }
  }
  /// Of a tensor that was taken apart: the tensor.
  static Tensor slice(const std::vector<Tensor> &stack, int64_t iteration) {
    return stack.size() == 1 ? stack[0] : stack[static_cast<size_t>(iteration)];
  }

  const WorkGraph &graph_;
  const Schedule &schedule_;
  const std::vector<Picoseconds> &durations_;
};

/// One operation after the other, in the order of the regions.
inline Schedule sequential(const WorkGraph &graph, const std::vector<Picoseconds> &durations) {
  Schedule schedule;
  schedule.regions.resize(graph.regions.size());
  auto region = [&](auto &&self, RegionId r) -> void {
    int64_t at = 0;
    for (OperationId id : graph.regions[r].operations) {
      int64_t duration = durations[id].value;
      if (RegionId body = graph.operations[id].body; body != kNone) {
        self(self, body);
        duration = graph.regions[body].count * schedule.regions[body].length.value;
      }
      schedule.regions[r].slots.push_back({id, -1, 0, {at}, {duration}});
      at += duration;
    }
    schedule.regions[r].length = {at};
  };
  region(region, 0);
  region(region, 1);
  schedule.step = {graph.microbatches * schedule.regions[0].length.value + schedule.regions[1].length.value};
  return schedule;
}

/// One tensor core, two vector cores, two memories; numbers that make both bounds happen.
inline Machine smallMachine() {
  Machine machine;
  machine.name = "small";
  machine.clock = Hertz(1e9);
  machine.memories.push_back({});
  machine.memories[0].name = "hbm";
  machine.memories[0].capacity = Bytes(1e9);
  machine.memories[0].bandwidth = BytesPerSecond(1e9);
  machine.memories[0].energy = JoulesPerByte(1e-11);
  machine.memories.push_back({});
  machine.memories[1].name = "sram";
  machine.memories[1].bandwidth = BytesPerSecond(8e9);
  machine.memories[1].latency = Seconds(1e-8);
  machine.cores.resize(2);
  machine.cores[0].name = "tc";
  machine.cores[0].kind = CoreKind::Tensor;
  machine.cores[0].peak["fp32"] = FlopsPerSecond(2e10);
  machine.cores[1].name = "vc";
  machine.cores[1].kind = CoreKind::Vector;
  machine.cores[1].count = 2;
  machine.cores[1].peak["fp32"] = FlopsPerSecond(1e10);
  machine.energyPerFlop = JoulesPerFlop(1e-12);
  machine.idle = Watts(10);
  return machine;
}

} // namespace accord::testing
