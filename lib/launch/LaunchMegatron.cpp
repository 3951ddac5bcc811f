// A plan in the words of Megatron-LM: what it can say, and what it cannot.
#include "lib/launch/LauncherFeatures.h"
#include "lib/launch/MegatronModel.h"
#include "lib/placement/output/PlacementFigures.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

class Megatron {
public:
  explicit Megatron(const PlacementPlan &plan)
      : problem(plan.problem), plan(plan), placement(*plan.result.plan), groups(placement.groups()) {}

  Result<MegatronArguments> run() {
    if (std::string error = refusalOf(featuresOf(Launcher::Megatron), plan); !error.empty())
      return cannot(error);
    if (auto error = parallelConfigs())
      return cannot(*error);
    if (plan.architecture) {
      ACCORD_TRY(whole, megatronModel(plan, *plan.architecture));
      take(std::move(whole));
    }
    if (auto error = layers())
      return cannot(*error);
    recompute();
    if (!plan.architecture)
      modelByNames();
    numbers();
    optimizer();
    return std::move(out);
  }

private:
  Error cannot(std::string error) const {
    return {Code::LauncherCannot, "Megatron-LM " + std::move(error), plan.location, {}};
  }
  void add(std::string argument) { out.arguments.push_back(std::move(argument)); }

  void take(MegatronArguments whole) {
    out.script = std::move(whole.script);
    out.remarks.insert(out.remarks.end(), whole.remarks.begin(), whole.remarks.end());
    out.arguments.insert(out.arguments.end(), whole.arguments.begin(), whole.arguments.end());
    bool isLegacy = std::ranges::find(whole.arguments, "--use-legacy-models") != whole.arguments.end();
    if (isLegacy && std::erase(out.arguments, "--overlap-param-gather") > 0)
      out.remarks.push_back(
          "slower than planned: models with norms behind their blocks gather parameters before a step, "
          "not in it");
  }

  std::optional<std::string> parallelConfigs() {
    const ParallelConfig &parallelConfig = problem.parallelConfigs[placement.stages[0].parallelConfig];
    if (parallelConfig.zero > 1 && groups > 1)
      return fmt::format("shards the optimizer's states alone (ZeRO 1) beside a pipeline; the plan "
                         "has ZeRO {}",
                         parallelConfig.zero);
    add(fmt::format("--tensor-model-parallel-size {}", parallelConfig.tensor));
    if (parallelConfig.order == RankOrder::TensorPipelineData)
      add("--use-tp-pp-dp-mapping");
    if (parallelConfig.context > 1) {
      constexpr std::string_view kinds[] = {"p2p", "all_gather", "a2a"};
      add(fmt::format("--context-parallel-size {}", parallelConfig.context));
      add(fmt::format("--cp-comm-type {}", kinds[llvm::to_underlying(parallelConfig.contextExchange)]));
    }
    if (parallelConfig.expert > 1) {
      add(fmt::format("--expert-model-parallel-size {}", parallelConfig.expertDegree()));
      if (parallelConfig.tensor > 1) // unless stated, it is the tensor degree
        add(fmt::format("--expert-tensor-parallel-size {}", parallelConfig.expertTensor));
    }
    if (parallelConfig.ringOverlap)
      add("--tp-comm-overlap");
    if (parallelConfig.hostStates)
      add("--optimizer-cpu-offload");
    add(fmt::format("--pipeline-model-parallel-size {}", groups));
    if (parallelConfig.sequence && parallelConfig.tensor > 1)
      add("--sequence-parallel");
    add(fmt::format("--micro-batch-size {}", parallelConfig.microbatch));
    add(fmt::format("--global-batch-size {}", problem.batch));
    distributesOptimizer = parallelConfig.zero >= 1;
    if (distributesOptimizer)
      add("--use-distributed-optimizer");
    if (parallelConfig.zero > 1) { // needed by Megatron-FSDP, but for the strategy
      add("--use-megatron-fsdp");
      add(fmt::format("--data-parallel-sharding-strategy {}",
                      parallelConfig.zero == 2 ? "optim_grads" : "optim_grads_params"));
      add("--no-gradient-accumulation-fusion");
      add("--ckpt-format fsdp_dtensor");
      out.remarks.push_back("Megatron-FSDP needs Megatron core 0.14 or newer");
    }
    if (parallelConfig.data > 1) // the plan hides the exchange behind the backward pass
      add("--overlap-grad-reduce");
    if (parallelConfig.data > 1 && distributesOptimizer)
      add("--overlap-param-gather");
    return std::nullopt;
  }

  std::optional<std::string> layers() {
    isBlock = blocksOf(plan);
    const int64_t numBlocks = std::count(isBlock.begin(), isBlock.end(), true);
    const StageBlocks stages = stageBlocks(plan);
    if (!stages.refusal.empty())
      return stages.refusal;
    std::vector<int64_t> blocks;
    for (const StageBlocks::Stage &stage : stages.stages)
      blocks.push_back(stage.end - stage.first);
    if (numBlocks < static_cast<int64_t>(blocks.size()))
      return fmt::format("cuts between equal blocks; the model has {} in a row for {} stages", numBlocks,
                         blocks.size());
    if (!plan.architecture)
      add(fmt::format("--num-layers {}", numBlocks));
    cut(blocks);
    return std::nullopt;
  }

  void cut(const std::vector<int64_t> &blocks) {
    bool interleaved = placement.virtualStages > 1;
    bool even = std::all_of(blocks.begin(), blocks.end(), [&](int64_t n) { return n == blocks.front(); });
    if (even && interleaved)
      return add(fmt::format("--num-layers-per-virtual-pipeline-stage {}", blocks.front()));
    if (even)
      return;
    bool middle = !interleaved && groups > 2 && blocks.front() > 0 && blocks.back() > 0 &&
                  std::all_of(blocks.begin() + 1, blocks.end() - 1, [&](int64_t n) { return n == blocks[1] && n > 0; });
    if (middle) {
      add(fmt::format("--decoder-first-pipeline-num-layers {}", blocks.front()));
      add(fmt::format("--decoder-last-pipeline-num-layers {}", blocks.back()));
      return;
    }
    std::string layout = "E";
    for (size_t s = 0; s < blocks.size(); ++s) {
      layout += s ? "|" : "";
      if (blocks[s] > 0)
        layout += fmt::format("t*{}", blocks[s]);
    }
    add(fmt::format("--pipeline-model-parallel-layout '{},L'", layout));
    out.remarks.push_back("stages have different numbers of blocks: the layout needs Megatron core "
                          "0.13 or newer");
  }

  /// One policy for all, or the first blocks of each stage in full. Never less than the plan: what is computed again
  /// must fit.
  void recompute() {
    int64_t max = 0, min = INT64_MAX, selective = 0, none = 0, full = 0, gathered = 0;
    for (const PlacedStage &stage : placement.stages) {
      int64_t recomputedBlocks = 0, blocks = 0;
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        if (!isBlock[stage.layers[i]])
          continue;
        std::string_view policy = problem.choiceOf(stage, i).policy;
        if (policy.ends_with("+gathered"))
          ++gathered, policy.remove_suffix(std::string_view("+gathered").size());
        ++blocks;
        recomputedBlocks += policy != "none";
        full += policy == "full";
        selective += policy != "none" && policy != "full";
        none += policy == "none";
      }
      max = std::max(max, recomputedBlocks);
      min = std::min(min, recomputedBlocks);
      largest = std::max(largest, blocks);
    }
    if (gathered > 0)
      out.remarks.push_back(fmt::format("slower than planned: {} blocks keep in the plan what "
                                        "sequence parallelism gathers, Megatron-LM gathers a second time",
                                        gathered));
    if (full == 0 && selective == 0)
      return;
    const std::string slower = fmt::format("slower than planned by {:.3g} ms a step at most: ",
                                           static_cast<double>(blockRecompute(plan).untilFull) * 1e-9);
    if (full == 0) {
      add("--recompute-granularity selective");
      if (none > 0)
        out.remarks.push_back(fmt::format("{}{} blocks keep all in the plan, "
                                          "Megatron-LM recomputes selectively in all of them",
                                          slower, none));
      return;
    }
    add("--recompute-granularity full");
    if (none == 0 && max == largest) {
      add("--recompute-method uniform");
      add("--recompute-num-layers 1");
    } else {
      add("--recompute-method block");
      add(fmt::format("--recompute-num-layers {}", max));
    }
    if (selective > 0)
      out.remarks.push_back(fmt::format("{}{} blocks recompute selectively in "
                                        "the plan; beside full recomputation Megatron-LM has none",
                                        slower, selective));
    if (min != max)
      out.remarks.push_back(fmt::format("{}stages recompute {} to {} blocks in "
                                        "the plan, one number holds for all of them",
                                        slower, min, max));
  }

  /// Of a plan whose architecture is not known: sizes are those of the model's parameters with the usual names.
  void modelByNames() {
    auto known = [&](const char *option, const char *parameter, const char *variable, const char *what) {
      for (const auto &[name, value] : plan.sizes)
        if (name == parameter && value > 0)
          return add(fmt::format("{} {}", option, value));
      add(fmt::format("{} \"${{{}:?{} of {}, which the plan does not say}}\"", option, variable, what, harmlessName()));
    };
    known("--hidden-size", "hidden", "HIDDEN_SIZE", "hidden size");
    known("--num-attention-heads", "heads", "ATTENTION_HEADS", "attention heads");
    for (const auto &[name, value] : plan.sizes)
      if (name == "vocab" && value > 0)
        add(fmt::format("--vocab-size {}", value));
    known("--seq-length", "seq", "SEQUENCE_LENGTH", "tokens of a sample");
    known("--max-position-embeddings", "seq", "MAX_POSITIONS", "longest sequence");
    if (plan.deviceMemory && plan.deviceMemory->vocabularyPerTensor)
      add(fmt::format("--make-vocab-size-divisible-by {}", plan.deviceMemory->vocabularyMultiple));
  }

  void numbers() {
    bool fp8 = productTypeOf(plan.precision) == "fp8"; // of values in bf16
    if (fp8 || plan.precision.find("bf16") != std::string::npos)
      add("--bf16");
    else if (plan.precision.find("fp16") != std::string::npos)
      add("--fp16");
    if (fp8) // e4m3 in the forward pass, e5m2 of gradients
      add("--fp8-format hybrid");
    if (fp8 && distributesOptimizer)
      add("--fp8-param-gather");
    framework();
  }

  /// Its adam is AdamW: the decay of weights is apart from their gradients.
  void optimizer() {
    if (plan.optimizer == "adam" || plan.optimizer == "adamw")
      add("--optimizer adam");
    else
      add(fmt::format("--optimizer sgd --sgd-momentum {}", plan.optimizer == "sgd" ? "0" : "0.9"));
  }

  /// What memory was planned with: types of gradients, and the padding of the vocabulary.
  void framework() {
    if (!plan.deviceMemory)
      return;
    const DeviceMemory &with = *plan.deviceMemory;
    bool bf16 = plan.precision == "mixed(bf16)" || plan.precision == "mixed(fp8)";
    if (bf16 && with.fp32Gradients)
      add("--accumulate-allreduce-grads-in-fp32");
    else if (bf16)
      add("--grad-reduce-in-bf16");
    if (with.framework != "megatron")
      out.remarks.push_back(fmt::format("memory was planned with framework '{}'", with.framework));
  }
  /// Fit for the text of "${NAME:?…}".
  std::string harmlessName() const {
    std::string text = sanitized(plan.model);
    std::erase_if(text, [](char c) { return c == '\''; });
    return text;
  }

  const PlacementProblem &problem;
  const PlacementPlan &plan;
  const Placement &placement;
  size_t groups;
  bool distributesOptimizer = false;
  std::vector<bool> isBlock; ///< by layer
  int64_t largest = 0;
  MegatronArguments out;
};

} // namespace

Result<MegatronArguments> megatronArguments(const PlacementPlan &plan) {
  if (!plan.result.plan)
    return Error{Code::NotAPlacement, "there is no plan to launch: the job is infeasible", plan.location, {}};
  return Megatron(plan).run();
}

} // namespace accord
