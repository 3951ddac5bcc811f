#include "lib/comparison/solve/PlannedStep.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include <fmt/format.h>

namespace accord::comparison {
namespace {

using llvm::StringRef;
using Class = WorkClass;

constexpr size_t kExecutions = size_t(1) << 22;
constexpr int64_t kMax = int64_t(1) << 61;

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMax ? kMax : product;
}

Class classOf(StringRef kind) {
  kind.consume_back("_grad");
  return llvm::StringSwitch<Class>(kind)
      .Cases({"linear", "matmul", "contract"}, Class::Product)
      .Cases({"conv2d", "depthwise_conv2d", "conv_transpose2d"}, Class::Convolution)
      .Case("flash_attention", Class::Attention)
      .Cases({"layer_norm", "batch_norm", "group_norm", "rms_norm"}, Class::Normalization)
      .Cases({"softmax", "segment_softmax"}, Class::Softmax)
      .Cases({"cross_entropy", "cross_entropy_stats", "cross_entropy_join", "cross_entropy_part", "mean", "mse",
              "smooth_l1", "binary_cross_entropy"},
             Class::Loss)
      .Cases({"embedding", "embedding_bag", "join_rows", "relative_bias", "gather", "scatter"}, Class::Embedding)
      .Cases({"max_pool", "avg_pool", "global_avg_pool", "upsample"}, Class::Pool)
      .Cases({"reduce_sum", "reduce_mean", "reduce_dimensions", "segment_sum"}, Class::Reduction)
      .Cases({"transpose", "concat", "split", "slice", "pad_slice", "unstack", "stack", "broadcast", "cast", "reshape"},
             Class::Copy)
      .Case("constant", Class::Fill)
      .Cases({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "take_part", "gradient_all_reduce"},
             Class::Communication)
      .Cases({"exp", "neg", "add", "sub", "mul", "div", "scale", "dropout"}, Class::ElementWise)
      .Cases({"leaky_relu", "elu", "rotary", "alibi", "sigmoid", "tanh", "relu", "gelu"}, Class::ElementWise)
      .Cases({"silu", "swish", "hard_swish", "hard_sigmoid", "softplus", "relu6", "sqrt"}, Class::ElementWise)
      .Default(Class::Other);
}

/// The word that frameworks have for it.
std::string wordOf(StringRef kind) {
  kind.consume_back("_grad");
  return llvm::StringSwitch<StringRef>(kind)
      .Case("scale", "mul")
      .Case("relu6", "hardtanh")
      .Case("hard_swish", "hardswish")
      .Case("hard_sigmoid", "hardsigmoid")
      .Default(kind)
      .str();
}

int64_t elementsOf(const LoopTensor &tensor, const std::vector<Loop> &domain) {
  int64_t all = 1;
  for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
    int64_t size = 1;
    if (d < tensor.sizes.size())
      size = tensor.sizes[d];
    else
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        if (term.loop < domain.size())
          size += times(std::max<int64_t>(0, term.stride), domain[term.loop].extent - 1);
    all = times(all, std::max<int64_t>(0, size));
  }
  return all;
}

/// Of an operation, or of a part of a fused one.
template <typename Operation> Signature workOf(const Operation &op) {
  Class of = classOf(op.kind);
  Signature work{of, of == Class::ElementWise ? wordOf(op.kind) : "", 0, 0};
  if (of == Class::Product || of == Class::Convolution) {
    work.size = op.flops;
    work.depth = 1;
    for (const Loop &loop : op.domain)
      if (loop.kind == IteratorKind::Reduction)
        work.depth = times(work.depth, loop.extent);
    return work;
  }
  for (const LoopTensor &tensor : op.tensors)
    if (!tensor.written)
      work.size = std::max(work.size, elementsOf(tensor, op.domain));
  return work;
}

Part partOf(Phase phase) {
  return phase == Phase::Forward     ? Part::Forward
         : phase == Phase::Recompute ? Part::Recompute
         : phase == Phase::Update    ? Part::Update
                                     : Part::Backward;
}

/// As the tables of single operations name sizes: m x n times n x k, `batch` times; else `batch` rows of `width`.
std::map<std::string, std::string> columnsOf(const Operation &op) {
  if (!op.parts.empty() || op.tensors.empty())
    return {};
  const StringRef name = llvm::StringSwitch<StringRef>(op.kind)
                             .Case("linear", "linear")
                             .Case("matmul", "bmm")
                             .Case("layer_norm", "ln")
                             .Case("transpose", "copy")
                             .Cases({"softmax", "add", "mul", "div", "gelu", "relu", "tanh"}, op.kind)
                             .Default("");
  auto result = llvm::find_if(op.tensors, [](const LoopTensor &tensor) { return tensor.written; });
  if (name.empty() || result == op.tensors.end() || result->sizes.empty() || op.flops < 0)
    return {};
  std::map<std::string, std::string> columns{{"operation", name.str()}, {"type", op.type}};
  const std::vector<int64_t> &sizes = result->sizes;
  const int64_t last = sizes.back(), all = elementsOf(*result, op.domain);
  if (last <= 0 || all <= 0)
    return {};
  auto put = [&](const char *key, int64_t value) { columns[key] = std::to_string(value); };
  if (op.contraction) {
    const int64_t sum = op.flops / 2 / all,
                  rows = name == "bmm" && sizes.size() > 1 ? sizes[sizes.size() - 2] : all / last;
    put("batch", all / last / std::max<int64_t>(1, rows)), put("m", rows), put("n", sum), put("k", last);
  } else
    put("batch", all / last), put("width", last);
  return columns;
}

class Planner {
public:
  explicit Planner(const Plan &plan) : plan(plan) {}

  Result<PlannedStep> run() {
    const WorkGraph &graph = plan.graph;
    if (plan.costs.operations.size() != graph.operations.size() || graph.regions.empty())
      return Error{Code::BadPlan, "the plan has no cost of each operation", {}, {}, ""};
    made.model = graph.model, made.machine = plan.machine.name, made.job = plan.job;
    made.seconds = plan.schedule.step.seconds().value;
    made.microbatches = graph.microbatches, made.batch = plan.batch;
    if (!plan.machine.memories.empty())
      made.bandwidth = plan.machine.memories.front().bandwidth.value;
    made.columns = stepColumns();
    findForward();
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      addOperation(id);
    for (int64_t m = 0; m < graph.microbatches && made.executions.size() <= kExecutions; ++m)
      expand(kMicrobatchRegion, m, 0, 0);
    if (made.executions.size() > kExecutions)
      return Error{
          Code::BadPlan, fmt::format("a step of the plan runs more than {} operations", kExecutions), {}, {}, ""};
    return std::move(made);
  }

private:
  /// What the table of measured steps says of a training on one device.
  std::map<std::string, std::string> stepColumns() const {
    const WorkGraph &graph = plan.graph;
    StringRef precision = graph.precision;
    if (precision.consume_front("mixed("))
      precision.consume_back(")");
    std::map<std::string, std::string> columns{{"family", "cnn"},
                                               {"model", graph.model},
                                               {"accelerator", plan.machine.name},
                                               {"precision", precision.str()},
                                               {"optimizer", graph.optimizer},
                                               {"recompute", graph.recompute}};
    auto put = [&](const char *key, int64_t value) { columns[key] = std::to_string(value); };
    put("n_devices", 1), put("global_batch", plan.batch), put("micro_batch", graph.microbatch);
    if (plan.architecture && plan.architecture->family == ModelArchitecture::Family::Decoder &&
        !plan.architecture->irregular) {
      const ModelArchitecture &model = *plan.architecture;
      columns["family"] = "llm-dense";
      put("layers", model.layers), put("hidden", model.hidden), put("ffn", model.inner), put("heads", model.heads);
      put("kv_heads", model.keyValueHeads), put("vocab", model.vocabulary), put("seq_len", model.sequence);
      columns["attn_kernel"] = model.fusedAttention ? "flash" : "unfused";
      columns["mlp_kind"] = model.activation == ModelArchitecture::Activation::SwiGlu ? "swiglu3" : "gelu2";
      put("tp", 1), put("pp", 1), put("dp", 1), put("cp", 1);
    }
    return columns;
  }

  void findForward() {
    for (OperationId id = 0; id < plan.graph.operations.size(); ++id)
      if (plan.graph.operations[id].phase == Phase::Forward)
        forwardOf[plan.graph.operations[id].name] = id;
  }

  /// The operation whose name, up to a point, begins that of a gradient.
  int64_t forwardOperation(const Operation &op) const {
    if (op.phase == Phase::Forward || op.phase == Phase::Update)
      return -1;
    for (StringRef name = StringRef(op.name).rsplit('.').first; !name.empty(); name = name.rsplit('.').first) {
      auto found = forwardOf.find(name);
      if (found != forwardOf.end())
        return found->second;
      if (!name.contains('.'))
        break;
    }
    return -1;
  }

  void addOperation(OperationId id) {
    const Operation &op = plan.graph.operations[id];
    const OperationCost &cost = plan.costs.operations[id];
    PlannedOperation &one = made.operations.emplace_back();
    one.name = op.name, one.kind = op.kind;
    one.bound = cost.bound;
    one.part = partOf(op.phase);
    one.forward = forwardOperation(op);
    one.isWeightGradient = op.phase == Phase::WeightGradient;
    one.seconds = op.body == kNone ? cost.time.value : 0;
    one.flops = static_cast<double>(op.flops);
    one.bytes = static_cast<double>(op.bytesRead) + static_cast<double>(op.bytesWritten);
    one.executions = static_cast<int64_t>(std::min<Count>(plan.graph.executions(id), kMax));
    made.modelFlops += static_cast<double>(contractionFlops(op)) * static_cast<double>(one.executions);
    if (cost.core >= 0 && cost.core < static_cast<int>(plan.machine.cores.size())) {
      const Core &core = plan.machine.cores[cost.core];
      one.peak = peakOfOne(plan.machine, core, cost.type.empty() ? op.type : cost.type).value *
                 static_cast<double>(core.count);
    }
    if (op.region < plan.graph.regions.size() && op.region > kUpdateRegion)
      one.group = plan.graph.regions[op.region].name;
    one.work = worksOf(op);
    one.columns = columnsOf(op);
    // A product that is the gradient of a convolution is one.
    if (one.forward >= 0 && op.contraction && classOf(plan.graph.operations[one.forward].kind) == Class::Convolution)
      for (Signature &work : one.work)
        if (work.workClass == Class::Product)
          work.workClass = Class::Convolution;
    if (op.communication) {
      for (Signature &work : one.work)
        work = {Class::Communication, "", 0, 0};
    }
  }

  static std::vector<Signature> worksOf(const Operation &op) {
    if (op.parts.empty())
      return {workOf(op)};
    std::vector<Signature> all;
    for (const FusedPart &part : op.parts)
      all.push_back(workOf(part));
    return all;
  }

  void expand(RegionId region, int64_t microbatch, int64_t layer, unsigned depth) {
    for (OperationId id : plan.graph.regions[region].operations) {
      const Operation &op = plan.graph.operations[id];
      if (op.body != kNone && op.body < plan.graph.regions.size() && depth < 32) {
        const int64_t count = plan.graph.regions[op.body].count;
        // A layer has one number in both directions.
        for (int64_t i = 0; i < count && made.executions.size() <= kExecutions; ++i)
          expand(op.body, microbatch, layer * count + (plan.graph.regions[op.body].reverse ? count - 1 - i : i),
                 depth + 1);
      } else if (made.operations[id].seconds > 0 && made.operations[id].part != Part::Update)
        made.executions.push_back({id, microbatch, layer});
    }
  }

  const Plan &plan;
  PlannedStep made;
  llvm::StringMap<int64_t> forwardOf;
};

} // namespace

Result<PlannedStep> plannedStepOf(const Plan &plan) { return Planner(plan).run(); }

} // namespace accord::comparison
