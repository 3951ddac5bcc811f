#include "MineRandom.h"
#include "dialects/dnn/Dnn.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/Random.h"
#include "test/support/SourcePath.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::test {
namespace {

using Numbers = std::vector<int>;

/// A small network as a model of one `train` block.
std::string modelText(fuzz::Random &random, bool large, std::string &what) {
  auto pick = [&](Numbers from) { return random.pick(from); };
  int times = large ? 4 : 1;
  std::string body, import;
  switch (random.below(5)) {
  case 0: { // linear layers
    int width = times * pick({48, 96, 256, 640, 1024}), layers = pick({1, 2, 4});
    what = fmt::format("mlp {}x{}", layers, width);
    body = fmt::format("  input x : float[{0}]\n  input label : int32[1]\n"
                       "  var h = reshape(x, [1, {0}])\n"
                       "  repeat {1} as layer {{ h = {2}(linear(h, out = {0})) }}\n"
                       "  loss cross_entropy(linear(h, out = {3}), label)\n",
                       width, layers, random.percent(50) ? "gelu" : "relu", pick({10, 100, 1000}));
    break;
  }
  case 1: { // an encoder or a decoder
    int head = pick({16, 32, 64}), heads = times * pick({1, 2, 4}), layers = pick({1, 2, 3});
    int seq = times * pick({16, 48, 64, 128}), hidden = head * heads, vocab = pick({100, 1000, 5000});
    what = fmt::format("transformer {}x{} of {}", layers, hidden, seq);
    import = "import \"catalog/transformer.dnn\"\n";
    std::string fed = random.percent(60) ? fmt::format("gelu_mlp(layer_norm(x), {}, {})", hidden, 4 * hidden)
                                         : fmt::format("swiglu_mlp(rms_norm(x), {}, {})", hidden, 3 * hidden);
    body = fmt::format("  input tokens : int32[{0}]\n  input labels : int32[{0}]\n"
                       "  var x = embedding(tokens, rows = {1}, dim = {2})\n"
                       "  repeat {3} as layer {{\n    x = x + attention(layer_norm(x), heads = {4}, "
                       "causal = {5})\n"
                       "    x = x + {6}\n  }}\n  loss cross_entropy(linear(x, out = {1}), labels)\n",
                       seq, vocab, hidden, layers, heads, random.percent(50) ? "true" : "false", fed);
    break;
  }
  case 2: { // convolutions with residuals
    int size = pick({14, 28, 32}), channels = times * pick({16, 32, 48, 128}), blocks = pick({1, 2});
    what = fmt::format("convnet {}x{} of {}", blocks, channels, size);
    import = "import \"catalog/convolution.dnn\"\n";
    body = fmt::format("  input image : float[3, {0}, {0}]\n  input label : int32[1]\n"
                       "  var x = relu(conv_bn(image, out = {1}, kernel = 3, stride = {3}, padding "
                       "= 1))\n  repeat {2} as block {{\n"
                       "    let y = relu(conv_bn(x, out = {1}, kernel = 3, padding = 1))\n"
                       "    x = relu(x + conv_bn(y, out = {1}, kernel = {4}, padding = {5}))\n  }}\n"
                       "  loss cross_entropy(classifier(x, 10), label)\n",
                       size, channels, blocks, pick({1, 2}), 3, 1);
    break;
  }
  case 3: { // depthwise convolutions
    int size = pick({14, 28, 56}), channels = times * pick({16, 24, 40}), wide = pick({2, 4, 6});
    what = fmt::format("inverted residuals {} of {}", channels, size);
    import = "import \"catalog/convolution.dnn\"\n";
    body = fmt::format("  input image : float[3, {0}, {0}]\n  input label : int32[1]\n"
                       "  var x = hard_swish(conv_bn(image, out = {1}, kernel = 3, stride = 2, "
                       "padding = 1))\n  repeat {2} as block {{ x = inverted_residual(x, out = {1}, "
                       "expanded_channels = {3}, kernel = {4}, squeeze = {5}) }}\n"
                       "  loss cross_entropy(classifier(x, 100), label)\n",
                       size, channels, pick({1, 3}), channels * wide, pick({3, 5}), pick({0, 16}));
    break;
  }
  default: { // recurrent
    int length = pick({8, 20}), hidden = times * pick({32, 128, 256}), vocab = pick({200, 2000});
    what = fmt::format("lstm {} of {}", hidden, length);
    body = fmt::format("  input words : int32[{0}]\n  input labels : int32[{0}]\n"
                       "  var x = embedding(words, rows = {1}, dim = {2})\n"
                       "  x = lstm(x, hidden = {2})\n  x = lstm(x, hidden = {2}{3})\n"
                       "  loss cross_entropy(linear(x, out = {1}), labels)\n",
                       length, vocab, hidden, random.percent(30) ? ", bidirectional = true" : "");
  }
  }
  return fmt::format("{}model net {{\n{}}}\ntrain t = net() on tpu_like {{ batch = 1 }}\n", import, body);
}

MiningJob jobOf(const std::string &text, fuzz::Random &random, std::string &what) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  sources.add("model.dnn", text);
  ElaborateOptions options;
  options.ideal = true; // what a formula of the data sheet gives
  options.catalog = accord::sourcePath("lib/catalog");
  Program program(diags, context, "model.dnn", options);
  auto job = program.job();
  MiningJob made;
  if (!job || !program.model(*job)) {
    ADD_FAILURE() << diags.text() << text;
    return made;
  }
  mlir::PassManager passes(&context);
  BuildTrainingGraphOptions build;
  build.precision = random.percent(70) ? "mixed(bf16)" : "bf16";
  build.optimizer = random.percent(50) ? "sgd" : "adam";
  passes.addPass(createBuildTrainingGraph(build));
  if (mlir::failed(passes.run(program.module()))) {
    ADD_FAILURE() << text;
    return made;
  }
  made.name = what, made.batch = 4 << random.below(6);
  what += fmt::format(" x {} {}", made.batch, build.optimizer);
  program.module().walk([&](dnn::TrainingGraphOp graph) {
    for (int64_t of = random.percent(50) ? 1 : 4;; of /= 4) { // micro-batches
      std::string error;
      auto work = workGraphFrom(graph, made.batch / of, of, error);
      if (!work)
        ADD_FAILURE() << error;
      else
        made.alternatives.push_back(
            {fmt::format("micro-batch {}", made.batch / of), std::make_shared<StepWork>(std::move(*work))});
      if (of == 1)
        break;
    }
  });
  return made;
}

/// A number that is open or not; `choices` counts what it multiplies the designs by.
class Open {
public:
  Open(fuzz::Random &random, const MiningDraw &draw) : random(random), left(draw.max), always(draw.tight) {}

  /// Some powers of two between two of them, as a choice.
  std::string powers(int first, int last, unsigned open, const char *unit = "") {
    int low = first + static_cast<int>(random.below(size_t(last - first) + 1));
    if (always && open >= 80)
      low = first + (low - first) / 2;
    int high = low + static_cast<int>(random.below(size_t(last - low) + 1));
    if (always && open >= 80)
      high = std::max(high, std::min(low + 3, last));
    uint64_t count = static_cast<uint64_t>(high - low) + 1;
    if (!random.percent(open) || !take(count))
      return fmt::format("{}{}", 1 << ((low + high) / 2), unit);
    return count == 1 ? fmt::format("{}{}", 1 << low, unit) : fmt::format("pow2 {}..{}{}", 1 << low, 1 << high, unit);
  }
  std::string range(int min, int max, unsigned open) {
    int last = min + static_cast<int>(random.below(size_t(max - min) + 1));
    if (last == min || !random.percent(open) || !take(static_cast<uint64_t>(last - min) + 1))
      return fmt::format("{}", min);
    return fmt::format("{}..{}", min, last);
  }
  std::string among(std::vector<std::string> values, unsigned open) {
    while (values.size() > 2 && random.percent(40))
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(random.below(values.size())));
    if (!random.percent(open) || !take(values.size()))
      return random.pick(values);
    return fmt::format("{{{}}}", fmt::join(values, ", "));
  }

private:
  bool take(uint64_t count) {
    bool fits = count <= left;
    left = fits ? left / count : left;
    return fits;
  }
  fuzz::Random &random;
  uint64_t left;
  bool always;
};

/// A space without its limits and its last brace.
std::string spaceText(fuzz::Random &random, const MiningDraw &draw) {
  Open open(random, draw);
  std::string text = "accelerator s {\n  technology = 16 nm\n";
  bool linked = random.percent(30), either = random.percent(60), split = random.percent(50);
  std::string mapping = either ? ", mapping = any" : split ? "" : ", mapping = per_instance";
  bool chip = draw.tight && random.percent(60); // sizes around those of large chips
  std::string tensors = random.percent(50) ? open.powers(0, 5, 90) : open.range(1, 8, 90);
  text += fmt::format("  core tc[{}] : tensor {{ array = ({}) x ({}), dataflow = {}, multiply = "
                      "bf16, accumulate = fp32, reads = glb{} }}\n",
                      tensors, open.powers(chip ? 5 : 2, 8, 90), open.powers(chip ? 5 : 2, 8, 80),
                      open.among({"weight_stationary", "output_stationary", "input_stationary"}, 60), mapping);
  std::string vectors = random.percent(60) ? open.powers(0, 4, 80) : open.range(1, 6, 80);
  text += fmt::format("  core vc[{}] : vector {{ lanes = {}, types = {{fp32, bf16}}, reads = glb{} "
                      "}}\n",
                      vectors, linked ? "tc.array.cols" : open.powers(chip ? 8 : 3, chip ? 12 : 10, 80), mapping);
  text += fmt::format("  memory glb : scratchpad {{ capacity = {}, bandwidth = {}, double_buffered = "
                      "{}, energy = 0.1 pJ/bit }}\n",
                      open.powers(chip ? 12 : 6, chip ? 16 : 14, 90, " KiB"),
                      open.among({"64 B/cycle", "256 B/cycle", "1024 B/cycle", "4096 B/cycle"}, 50),
                      random.percent(80) ? "true" : "false");
  text += fmt::format("  memory hbm : dram {{ capacity = {}, bandwidth = {}, energy = 4 pJ/bit }}\n",
                      open.among({"8 GiB", "64 MiB", "1 GiB"}, 20),
                      draw.tight ? "900 GB/s" : open.among({"30 GB/s", "100 GB/s", "400 GB/s"}, 40));
  text += fmt::format("  clock = {}\n", open.among({"500 MHz", "940 MHz", "1.4 GHz"}, 25));
  text += "  path hbm -> glb -> {tc, vc}\n  power { idle = 2 W, mac = 0.6 pJ }\n"
          "  area { mac = 760 um2, sram = 1.4 mm2 per 1 MiB";
  return text + (chip && random.percent(50) ? " }\n" : ", lane = 2000 um2 }\n");
}

/// Limits of area and power that a share of the designs keeps.
std::string limits(fuzz::Random &random, const DesignSpace &space, bool tight) {
  std::vector<double> areas, powers;
  for (int i = 0; i < 64; ++i) {
    auto made = space.machine(space.at(random.below(static_cast<size_t>(*space.points()))));
    if (auto *machine = made.get()) {
      areas.push_back(machine->area.squareMillimetres());
      powers.push_back(machine->tdp.value);
    }
  }
  auto share = [&](std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of.empty() ? 1 : of[of.size() * (tight ? 5 + random.below(60) : 20 + random.below(75)) / 100];
  };
  double area = share(areas), power = share(powers);
  std::string text;
  if (tight || random.percent(85))
    text += fmt::format("  require area <= {:.4f} mm2\n", area * 1.001);
  if (random.percent(50))
    text += fmt::format("  require power.tdp <= {:.4f} W\n", power * 1.001);
  return text;
}

std::unique_ptr<DesignSpace> spaceOf(const std::string &text) {
  Machines machines(text);
  auto made = machines.space("s");
  if (!made) {
    if (made.error().front().code != Code::MemoryBelowTile) // a memory too small for every array: drawn again
      ADD_FAILURE() << made.error().front().code << " " << made.error().front().message << "\n" << text;
    return nullptr;
  }
  return std::make_unique<DesignSpace>(std::move(*made));
}

} // namespace

MiningAtRandom miningAtRandom(uint64_t seed, const MiningDraw &draw) {
  fuzz::Random random(seed * 7919 + 17);
  MiningAtRandom made;
  for (int tries = 0; tries < 200; ++tries) {
    std::string text = spaceText(random, draw);
    if (text.find("..") == std::string::npos && text.find("= {w") == std::string::npos)
      continue; // nothing of its sizes is open
    auto space = spaceOf(text + "}\n");
    if (!space)
      continue;
    made.designs = *space->points();
    if (made.designs < draw.min || made.designs > draw.max)
      continue;
    made.spaceText = text + limits(random, *space, draw.tight) + "}\n";
    made.space = spaceOf(made.spaceText);
    break;
  }
  if (!made.space)
    return made;
  constexpr MiningMetric kMetrics[] = {MiningMetric::StepTime, MiningMetric::TdpTime, MiningMetric::AreaTime,
                                       MiningMetric::Energy};
  made.metric = kMetrics[random.percent(40) ? 0 : random.below(4)];
  made.what = name(made.metric);
  bool two = random.percent(40);
  for (int job = 0; job < (two ? 2 : 1); ++job) {
    std::string what;
    made.modelTexts.push_back(modelText(random, draw.tight, what));
    made.jobs.push_back(jobOf(made.modelTexts.back(), random, what));
    if (made.jobs.back().alternatives.empty()) {
      made.space.reset();
      return made;
    }
    made.what += ", " + what;
  }
  if (two) {
    made.aggregation = random.percent(50) ? ObjectiveAggregation::MinimaxRegret : ObjectiveAggregation::Sum;
    made.what += made.aggregation == ObjectiveAggregation::Sum ? ", sum" : ", worst ratio";
    made.jobs[1].weight = random.percent(50) ? 1 : 3;
  }
  return made;
}

} // namespace accord::test
