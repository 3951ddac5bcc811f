#include "test/support/EmitFixture.h"
#include <algorithm>
#include <map>

namespace accord::test {
namespace {

struct Builder {
  WorkGraph g;
  RegionId region = 0;

  ValueId value(const std::string &name, int64_t bytes, Category category = Category::Activations) {
    g.values.push_back({name, bytes, category, region});
    return g.values.size() - 1;
  }
  /// One result of `bytes`; reads its operands and `weights` bytes.
  ValueId op(const std::string &name, const std::string &kind, Phase phase, CoreKind core, int64_t flops,
             std::vector<ValueId> operands, int64_t bytes, int64_t weights = 0) {
    Operation o;
    o.name = name, o.kind = kind, o.phase = phase, o.core = core, o.flops = flops;
    o.type = core == CoreKind::Tensor ? "bf16" : "fp32";
    o.contraction = core == CoreKind::Tensor;
    o.bytesRead = weights, o.bytesWritten = bytes;
    for (ValueId v : operands)
      o.bytesRead += g.values[v].bytes / g.values[v].slices;
    if (core == CoreKind::None)
      o.bytesRead = o.bytesWritten = 0;
    o.operands = operands;
    o.region = region;
    o.location = {"gpt.dnn", static_cast<unsigned>(10 + g.operations.size()), 5};
    bool gradient = phase == Phase::DataGradient || phase == Phase::WeightGradient;
    ValueId result = value(name, bytes, gradient ? Category::Temporaries : Category::Activations);
    if (core == CoreKind::None)
      g.values[result].alias = operands[0];
    o.results = {result};
    g.regions[region].operations.push_back(g.operations.size());
    g.operations.push_back(o);
    return result;
  }
  RegionId open(const std::string &name, int64_t count) {
    g.regions.push_back({name, count, region, kNone, {}, {}, {}, {}});
    return region = g.regions.size() - 1;
  }
  /// Ends the body and puts the repeat into the parent.
  OperationId close(const std::string &name, Phase phase, std::vector<ValueId> operands) {
    RegionId body = region;
    region = g.regions[body].parent;
    Operation o;
    o.name = name, o.kind = "repeat", o.phase = phase, o.region = region, o.body = body, o.operands = operands;
    o.location = {"gpt.dnn", 6, 3};
    g.regions[body].owner = g.operations.size();
    g.regions[region].operations.push_back(g.operations.size());
    g.operations.push_back(o);
    return g.operations.size() - 1;
  }
};

WorkGraph gpt(const GptSize &z) {
  int64_t B = z.microbatch, S = z.sequence, H = z.hidden, T = B * S, A = z.heads;
  int64_t x = 2 * T * H, scores = 2 * B * A * S * S, L = z.layers;
  Builder b;
  b.g.model = "gpt_small", b.g.precision = "mixed(bf16)", b.g.optimizer = "adam";
  b.g.microbatch = B, b.g.microbatches = z.microbatches;
  b.g.parameters = L * 12 * H * H + z.vocab * H + 1024 * H;
  b.g.regions = {{"step", 1, kNone, kNone, {}, {}, {}, {}}, {"update", 1, kNone, kNone, {}, {}, {}, {}}};
  const Phase F = Phase::Forward, D = Phase::DataGradient, W = Phase::WeightGradient;
  const CoreKind TC = CoreKind::Tensor, V = CoreKind::Vector;

  ValueId tokens = b.value("tokens", 4 * T, Category::Inputs);
  ValueId e = b.op("embedding", "embedding", F, V, T * H, {tokens}, x);
  RegionId body = b.open("block", L);
  ValueId in = b.value("block.x", x);
  ValueId n1 = b.op("block.ln1", "layer_norm", F, V, 8 * T * H, {in}, x);
  ValueId qkv = b.op("block.attention.qkv", "linear", F, TC, 6 * T * H * H, {n1}, 3 * x, 6 * H * H);
  ValueId heads = b.op("block.attention.heads", "reshape", F, CoreKind::None, 0, {qkv}, 3 * x);
  ValueId sc = b.op("block.attention.scores", "matmul", F, TC, 2 * T * S * H, {heads}, scores);
  ValueId p = b.op("block.attention.softmax", "softmax", F, V, 5 * B * A * S * S, {sc}, scores);
  ValueId c = b.op("block.attention.context", "matmul", F, TC, 2 * T * S * H, {p, heads}, x);
  ValueId o = b.op("block.attention.out", "linear", F, TC, 2 * T * H * H, {c}, x, 2 * H * H);
  ValueId r1 = b.op("block.add1", "add", F, V, T * H, {o, in}, x);
  ValueId n2 = b.op("block.ln2", "layer_norm", F, V, 8 * T * H, {r1}, x);
  ValueId f1 = b.op("block.fc1", "linear", F, TC, 8 * T * H * H, {n2}, 4 * x, 8 * H * H);
  ValueId ge = b.op("block.gelu", "gelu", F, V, 32 * T * H, {f1}, 4 * x);
  ValueId f2 = b.op("block.fc2", "linear", F, TC, 8 * T * H * H, {ge}, x, 8 * H * H);
  ValueId r2 = b.op("block.add2", "add", F, V, T * H, {f2, r1}, x);
  OperationId fwd = b.close("block.repeat", F, {e});
  ValueId out = b.value("block.out", x);
  b.g.operations[fwd].results = {out};
  std::vector<ValueId> stacks, saved = {n1, qkv, p, c, n2, f1, ge};
  for (ValueId v : saved) {
    stacks.push_back(b.value(b.g.values[v].name + ".stack", L * b.g.values[v].bytes));
    b.g.values.back().slices = L;
    b.g.regions[body].stashed.push_back({v, stacks.back()});
    b.g.operations[fwd].results.push_back(stacks.back());
  }
  b.g.regions[body].carried = {{in, r2, e, out}};
  ValueId nf = b.op("ln_f", "layer_norm", F, V, 8 * T * H, {out}, x);
  ValueId lg = b.op("head", "linear", F, TC, 2 * T * H * z.vocab, {nf}, 2 * T * z.vocab, 2 * H * z.vocab);
  ValueId ls = b.op("loss", "cross_entropy", F, V, 5 * T * z.vocab, {lg}, 4 * T);
  ValueId dl = b.op("loss.data_gradient", "cross_entropy", D, V, 2 * T * z.vocab, {ls, lg}, 2 * T * z.vocab);
  ValueId dn = b.op("head.data_gradient", "contract", D, TC, 2 * T * H * z.vocab, {dl}, x, 2 * H * z.vocab);
  b.op("head.weight_gradient", "contract", W, TC, 2 * T * H * z.vocab, {dl, nf}, 2 * H * z.vocab);
  ValueId df = b.op("ln_f.data_gradient", "layer_norm", D, V, 12 * T * H, {dn}, x);
  RegionId back = b.open("block.backward", L);
  ValueId dy = b.value("block.dy", x);
  std::vector<ValueId> slice;
  for (ValueId v : saved)
    slice.push_back(b.value(b.g.values[v].name + ".slice", b.g.values[v].bytes));
  ValueId d2 = b.op("block.fc2.data_gradient", "contract", D, TC, 8 * T * H * H, {dy}, 4 * x, 8 * H * H);
  b.op("block.fc2.weight_gradient", "contract", W, TC, 8 * T * H * H, {dy, slice[6]}, 8 * H * H);
  ValueId dg = b.op("block.gelu.data_gradient", "gelu", D, V, 40 * T * H, {d2, slice[5]}, 4 * x);
  ValueId d1 = b.op("block.fc1.data_gradient", "contract", D, TC, 8 * T * H * H, {dg}, x, 8 * H * H);
  b.op("block.fc1.weight_gradient", "contract", W, TC, 8 * T * H * H, {dg, slice[4]}, 8 * H * H);
  ValueId dn2 = b.op("block.ln2.data_gradient", "layer_norm", D, V, 12 * T * H, {d1, dy}, x);
  ValueId dAttention = b.op("block.attention.out.data_gradient", "contract", D, TC, 2 * T * H * H, {dn2}, x, 2 * H * H);
  b.op("block.attention.out.weight_gradient", "contract", W, TC, 2 * T * H * H, {dn2, slice[3]}, 2 * H * H);
  ValueId dp =
      b.op("block.attention.context.data_gradient", "contract", D, TC, 4 * T * S * H, {dAttention, slice[1]}, scores);
  ValueId ds =
      b.op("block.attention.softmax.data_gradient", "softmax", D, V, 5 * B * A * S * S, {dp, slice[2]}, scores);
  ValueId dq = b.op("block.attention.scores.data_gradient", "contract", D, TC, 4 * T * S * H, {ds, slice[1]}, 3 * x);
  ValueId dx = b.op("block.attention.qkv.data_gradient", "contract", D, TC, 6 * T * H * H, {dq}, x, 6 * H * H);
  b.op("block.attention.qkv.weight_gradient", "contract", W, TC, 6 * T * H * H, {dq, slice[0]}, 6 * H * H);
  ValueId dr = b.op("block.ln1.data_gradient", "layer_norm", D, V, 12 * T * H, {dx, dn2}, x);
  OperationId bwd = b.close("block.backward.repeat", D, {df});
  for (ValueId stack : stacks)
    b.g.operations[bwd].operands.push_back(stack);
  ValueId dout = b.value("block.dx", x);
  b.g.operations[bwd].results = {dout};
  b.g.regions[back].reverse = true;
  b.g.regions[back].carried = {{dy, dr, df, dout}};
  for (size_t i = 0; i < stacks.size(); ++i)
    b.g.regions[back].unstashed.push_back({slice[i], stacks[i]});
  b.op("embedding.weight_gradient", "scatter", W, V, T * H, {dout}, x);
  b.region = kUpdateRegion;
  b.op("adam.update", "adam", Phase::Update, V, 12 * b.g.parameters, {}, 16 * b.g.parameters, 16 * b.g.parameters);
  int64_t P = b.g.parameters;
  b.g.staticTensors = {{"all", Category::Weights, 6 * P},
                       {"all", Category::Gradients, 4 * P},
                       {"all", Category::OptimizerStates, 8 * P}};
  return b.g;
}

Machine device() {
  Machine m;
  m.name = "a100_like";
  m.clock = Hertz(1.41e9), m.idle = Watts(60), m.tdp = Watts(400), m.energyPerFlop = JoulesPerFlop(0.6e-12);
  Memory hbm;
  hbm.name = "hbm", hbm.kind = "dram";
  hbm.capacity = Bytes(80.0 * (1ull << 30)), hbm.bandwidth = BytesPerSecond(2039e9);
  hbm.energy = JoulesPerByte(31e-12);
  hbm.origins["bandwidth"] = {"2039 GB/s", "NVIDIA A100 data sheet", {"a100.accel", 4, 50}};
  hbm.origins["capacity"] = {"80 GiB", "NVIDIA A100 data sheet", {"a100.accel", 4, 30}};
  m.memories = {hbm};
  Core tc, sm;
  tc.name = "tc", tc.kind = CoreKind::Tensor, tc.reads = 0;
  tc.peak = {{"bf16", FlopsPerSecond(312e12)}, {"tf32", FlopsPerSecond(156e12)}};
  tc.origins["peak"] = {"312 TFLOP/s", "NVIDIA A100 data sheet", {"a100.accel", 5, 20}};
  sm.name = "sm", sm.kind = CoreKind::Vector, sm.reads = 0, sm.peak = {{"fp32", FlopsPerSecond(19.5e12)}};
  m.cores = {tc, sm};
  return m;
}

Costs costs(const WorkGraph &g, const Machine &m) {
  Costs all;
  all.assumptions = {"every operation reads its operands from device memory once",
                     "no time between operations (launch overhead 0 s)"};
  for (const Operation &op : g.operations) {
    OperationCost c;
    c.core = op.core == CoreKind::Tensor ? 0 : op.core == CoreKind::Vector ? 1 : -1;
    c.model = "peak", c.type = op.type;
    c.bytes = {Bytes(static_cast<double>(op.bytesRead + op.bytesWritten))};
    c.transfer = {c.bytes[0] / m.memories[0].bandwidth};
    if (c.core >= 0)
      c.compute = Flops(static_cast<double>(op.flops)) / m.cores[c.core].peak.at(op.type);
    c.time = std::max(c.compute, c.transfer[0]);
    c.cycles = c.time * m.clock;
    c.energy = Flops(static_cast<double>(op.flops)) * m.energyPerFlop + c.bytes[0] * m.memories[0].energy;
    c.bound = c.core < 0 ? "view" : c.compute >= c.transfer[0] ? "compute" : "bandwidth hbm";
    c.formula = "max(flops / peak, bytes / bandwidth) = max(" + std::to_string(op.flops) + " / peak, " +
                std::to_string(op.bytesRead + op.bytesWritten) + " B / 2039 GB/s)";
    if (op.body != kNone)
      c = {}, c.bound = "critical path";
    all.operations.push_back(c);
  }
  return all;
}

/// In program order, each as early as its operands and its core allow; bodies first.
Picoseconds schedule(const WorkGraph &g, Costs &costs, RegionId r, Plan &plan) {
  RegionSchedule &s = plan.schedule.regions[r];
  std::map<ValueId, Picoseconds> ready;
  std::map<int, Picoseconds> free;
  for (OperationId id : g.regions[r].operations) {
    const Operation &op = g.operations[id];
    OperationCost &cost = costs.operations[id];
    Picoseconds duration = Picoseconds::ceil(cost.time), start{0};
    if (op.body != kNone) {
      duration = {schedule(g, costs, op.body, plan).value * g.regions[op.body].count};
      cost.time = duration.seconds();
    }
    for (ValueId v : op.operands)
      start = std::max(start, ready[v]);
    if (op.body != kNone) // a repeat takes every core
      for (auto &[core, when] : free)
        start = std::max(start, when);
    else if (cost.core >= 0)
      start = std::max(start, free[cost.core]);
    Picoseconds end = start + duration;
    if (op.body != kNone)
      free[0] = free[1] = end;
    else if (cost.core >= 0)
      free[cost.core] = end;
    for (ValueId v : op.results)
      ready[v] = end;
    plan.schedule.regions[r].slots.push_back({id, cost.core, 0, start, duration});
    plan.timing[id] = {start, {start.value + (op.phase == Phase::WeightGradient ? 1000000 : 0)}};
    s.length = std::max(s.length, end);
  }
  std::sort(s.slots.begin(), s.slots.end(), [](const Slot &a, const Slot &b) {
    return a.start != b.start ? a.start < b.start : a.operation < b.operation;
  });
  s.criticalPath = s.resourceBound = {s.length.value * 9 / 10};
  return s.length;
}
} // namespace

Costed gptCosts(const GptSize &size) {
  WorkGraph graph = gpt(size);
  Costs c = costs(graph, device());
  return {std::move(graph), std::move(c)};
}

Plan gptPlan(const GptSize &size) {
  Plan plan;
  plan.job = "gpt_small_training", plan.version = "0.1.0";
  plan.graph = gpt(size);
  plan.machine = device();
  plan.costs = costs(plan.graph, plan.machine);
  plan.assumptions = plan.costs.assumptions;
  plan.schedule.regions.resize(plan.graph.regions.size());
  plan.timing.resize(plan.graph.operations.size());
  int64_t micro = schedule(plan.graph, plan.costs, kMicrobatchRegion, plan).value;
  int64_t update = schedule(plan.graph, plan.costs, kUpdateRegion, plan).value;
  plan.schedule.step = {micro * size.microbatches + update};
  plan.schedule.bound = {plan.schedule.step.value * 97 / 100};
  plan.schedule.proof = "core tc";
  for (const Slot &slot : plan.schedule.regions[0].slots)
    if (plan.timing[slot.operation].slack().value == 0 && slot.duration.value > 0)
      plan.criticalPath.push_back(slot.operation);
  plan.batch = size.microbatch * size.microbatches;
  plan.objectiveValue = static_cast<double>(plan.batch) / plan.schedule.step.seconds().value;
  plan.objectiveBound = static_cast<double>(plan.batch) / plan.schedule.bound.seconds().value;
  // Memory: what stays, plus the stash that grows and shrinks.
  MemoryUse &memory = plan.memory;
  auto point = [&](int64_t time, double kept, double temporary) {
    MemoryPoint p{{time}, {}};
    for (const StaticTensor &r : plan.graph.staticTensors)
      p.bytes[static_cast<unsigned>(r.category)] += r.bytes;
    int64_t stash = 0;
    for (const Value &v : plan.graph.values)
      if (v.slices > 1)
        stash += v.bytes;
    p.bytes[static_cast<unsigned>(Category::Activations)] = static_cast<int64_t>(kept * static_cast<double>(stash));
    p.bytes[static_cast<unsigned>(Category::Temporaries)] = static_cast<int64_t>(temporary * 4e8);
    p.bytes[static_cast<unsigned>(Category::Inputs)] = 4 * size.microbatch * size.sequence;
    int64_t sum = 0;
    for (int64_t b : p.bytes)
      sum += b;
    if (sum > memory.peak)
      memory.peak = sum, memory.atPeak = p.bytes, memory.when = p.time;
    memory.timeline.push_back(p);
  };
  int64_t last = size.microbatches - 1;
  for (int64_t m : {int64_t(0), last})
    for (const Slot &slot : plan.schedule.regions[0].slots) {
      const Operation &op = plan.graph.operations[slot.operation];
      int64_t at = m * micro + slot.start.value;
      bool forward = op.phase == Phase::Forward;
      if (op.body == kNone) {
        bool after = slot.start >= plan.schedule.regions[0].slots.back().start;
        point(at, after ? 0 : op.name == "embedding" ? 0 : 1, forward ? 0.5 : 1);
        continue;
      }
      int64_t n = plan.graph.regions[op.body].count;
      for (int64_t i = 0; i < n; ++i) {
        double share = static_cast<double>(i) / static_cast<double>(n);
        point(at + slot.duration.value / n * i, forward ? share : 1 - share, 0.2);
        point(at + slot.duration.value / n * i + slot.duration.value / n / 2, forward ? share : 1 - share, 0.7);
      }
    }
  point(micro * size.microbatches, 0, 0.1);
  point(plan.schedule.step.value, 0, 0);
  return plan;
}

MemoryUse memoryOf(const WorkGraph &g) {
  int64_t staticTensors = 0, stash = 0, scores = 0;
  for (const StaticTensor &r : g.staticTensors)
    staticTensors += r.bytes;
  for (const Value &v : g.values) {
    stash += v.slices > 1 ? v.bytes : 0;
    scores += v.name == "block.attention.scores" ? v.bytes : 0;
  }
  MemoryUse use;
  for (int64_t bytes : {staticTensors, staticTensors + stash, staticTensors + 40 * scores}) {
    MemoryPoint p{{static_cast<int64_t>(use.timeline.size())}, {}};
    p.bytes[0] = bytes;
    use.timeline.push_back(p);
    use.peak = std::max(use.peak, bytes);
  }
  return use;
}

} // namespace accord::test
