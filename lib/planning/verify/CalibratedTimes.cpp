// The times of a calibrated machine again: from FLOPs, bytes and loops of the work, and the parameters in the plan.
#include "lib/planning/verify/Proof.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

namespace accord {
namespace {

/// What the calibration has to state, all above zero.
constexpr std::array kParameterNames = {"product_efficiency",
                                        "fp32_efficiency",
                                        "tf32_efficiency",
                                        "fp8_efficiency",
                                        "product_depth",
                                        "product_wave",
                                        "attention_depth",
                                        "attention_efficiency",
                                        "memory_efficiency",
                                        "softmax_efficiency",
                                        "lookup_efficiency",
                                        "loss_passes",
                                        "kernel_launch_overhead",
                                        "launch",
                                        "link_latency",
                                        "link_efficiency",
                                        "network_efficiency",
                                        "update_passes",
                                        "host_overhead_per_microbatch",
                                        "host_overhead_per_step"};
/// Those of them that are zero where no host launches kernels.
constexpr std::array<std::string_view, 3> kHostNames = {"launch", "host_overhead_per_microbatch",
                                                        "host_overhead_per_step"};
/// A collective of more bytes has a latency.
constexpr double kJoined = 1e5;
/// Devices of a server; bytes per second of one device to those of its server, and to others.
constexpr double kServer = 8, kLink = 300e9, kNetwork = 25e9;
/// The host's share of its own cost of a micro-batch and a step where its loop runs ahead.
constexpr double kAhead = 0.1;

enum class Sort { View, Product, Products, Attention, Stream, Softmax, Loss, Rows, Exchange };

/// What a time follows from.
struct Work {
  Sort sort = Sort::View;
  double flops = 0, bytes = 0;
  double products = 1, m = 1, n = 1, k = 1; ///< of so many m x k by k x n
  bool window = false;                      ///< a convolution, or a gradient of one
};

bool multiplies(Sort sort) { return sort == Sort::Product || sort == Sort::Products || sort == Sort::Attention; }

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

bool reachesRows(const std::string &kind) {
  return kind == "update_rows" || std::ranges::any_of(std::array{"embedding", "gather", "scatter", "lookup"},
                                                      [&](const char *part) { return contains(kind, part); });
}

/// Whether a summed loop is spread over the device all the same: the longest of several that reach a position of the
/// result together.
bool isSpread(const std::vector<Loop> &domain, const LoopTensor &result, unsigned loop) {
  return std::ranges::any_of(result.dimensions, [&](const std::vector<LoopTensor::Term> &position) {
    auto shorter = [&](const LoopTensor::Term &term) {
      return term.loop >= domain.size() || domain[term.loop].extent <= domain[loop].extent;
    };
    return position.size() > 1 && std::ranges::find(position, loop, &LoopTensor::Term::loop) != position.end() &&
           std::ranges::all_of(position, shorter);
  });
}

/// Extents of a product by who is indexed: both operands by `products`, the second alone by n, the others by m; sums
/// are k.
void setExtents(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors, Work &work) {
  std::vector<const LoopTensor *> operands;
  const LoopTensor *result = nullptr;
  for (const LoopTensor &tensor : tensors) {
    for (const auto &position : tensor.dimensions)
      work.window |= position.size() > 1;
    if (!tensor.written)
      operands.push_back(&tensor);
    else if (!result)
      result = &tensor;
  }
  std::vector<unsigned> indexes(domain.size(), 0); // bit 0 and 1: the first and second operand
  for (size_t i = 0; i < std::min<size_t>(operands.size(), 2); ++i)
    for (const auto &position : operands[i]->dimensions)
      for (const LoopTensor::Term &term : position)
        if (term.loop < domain.size())
          indexes[term.loop] |= 1U << i;
  for (unsigned loop = 0; loop < domain.size(); ++loop) {
    bool summed = domain[loop].kind == IteratorKind::Reduction && !(result && isSpread(domain, *result, loop));
    double &extent = summed ? work.k : indexes[loop] == 3 ? work.products : indexes[loop] == 2 ? work.n : work.m;
    extent *= static_cast<double>(domain[loop].extent);
  }
}

/// The extents of one expert's first product, of which a library runs one for each. By the loops' order (the domain of
/// `dnn.moe_experts`): what is a batch, experts, slots, weights, inner width, width. The last weight leads back.
void setExpert(const std::vector<Loop> &domain, Work &work) {
  size_t last = domain.size() - 1;
  for (size_t loop = 0; loop + 5 < domain.size(); ++loop)
    work.m *= static_cast<double>(domain[loop].extent);
  work.m *= static_cast<double>(domain[last - 3].extent);
  work.n = static_cast<double>((domain[last - 2].extent - 1) * domain[last - 1].extent);
  work.k = static_cast<double>(domain[last].extent);
}

/// Of a fused operation the product with the most FLOPs stands for all.
void setProduct(const Operation &op, Work &work) {
  const FusedPart *largest = nullptr;
  for (const FusedPart &part : op.parts)
    if (part.contraction && (!largest || part.flops > largest->flops))
      largest = &part;
  if (op.parts.empty() && op.kind.starts_with("moe_experts") && op.domain.size() >= 5)
    setExpert(op.domain, work);
  else if (op.parts.empty())
    setExtents(op.domain, op.tensors, work);
  else if (largest)
    setExtents(largest->domain, largest->tensors, work);
  work.sort = contains(op.kind, "attention") ? Sort::Attention : work.products > 1 ? Sort::Products : Sort::Product;
}

/// Keys that causal attention sees at most, of all: fewer with a window. The softmax is the part without a product, and
/// keys are its last loop.
double seenShare(const Operation &op) {
  for (const FusedPart &part : op.parts)
    if (!part.contraction && part.core == CoreKind::Vector && !part.domain.empty() &&
        part.domain.size() <= op.domain.size())
      return std::min(static_cast<double>(part.domain.back().extent) /
                          std::max<double>(static_cast<double>(op.domain[part.domain.size() - 1].extent), 1),
                      1.0);
  return 1;
}

Work workOf(const Operation &op) {
  Work work;
  if (op.body != kNone || op.core == CoreKind::None || op.kind == "slice")
    return work;
  double read = static_cast<double>(op.bytesRead), written = static_cast<double>(op.bytesWritten);
  work.flops = static_cast<double>(op.flops) * (op.causal ? 1 - seenShare(op) / 2 : 1), work.bytes = read + written;
  if (op.core == CoreKind::Network) {
    work.sort = Sort::Exchange;
  } else if (op.contraction) {
    setProduct(op, work);
  } else if (reachesRows(op.kind)) {
    work.sort = Sort::Rows;
    if (op.phase == Phase::WeightGradient && !op.kind.ends_with("_rows_grad")) // rows, not the whole table
      work.bytes = read + 2 * std::min(read, written);
  } else {
    work.sort = op.kind.starts_with("softmax")         ? Sort::Softmax
                : op.kind.starts_with("cross_entropy") ? Sort::Loss
                                                       : Sort::Stream;
    if (op.kind.starts_with("batch_norm")) // sums first
      work.bytes += read;
  }
  return work;
}

/// The types that a product of one may run in: itself, then wider ones; integers last of all in fp32.
std::vector<std::string> typesFor(const std::string &type) {
  std::vector<std::string> all = {type};
  const std::vector<std::string> floats = {"fp4", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64"},
                                 integers = {"int4", "int8", "int16", "int32", "int64"};
  int bits = bitsOf(type);
  for (const std::string &other : isInteger(type) ? integers : floats)
    if (bits > 0 && other != type && bitsOf(other) >= bits)
      all.push_back(other);
  if (isInteger(type))
    all.push_back("fp32");
  return all;
}

/// FLOP/s of the fastest core, all instances, and the type in which it runs.
struct ProductRate {
  double flopsPerSecond = 0;
  std::string type;
};
ProductRate productRate(const Machine &machine, const std::string &type) {
  for (const std::string &one : typesFor(type)) {
    double best = 0;
    for (const Core &core : machine.cores)
      best = std::max(best, peakOfInstance(core, one, machine) * static_cast<double>(core.count));
    if (best > 0)
      return {best, one};
  }
  return {};
}

/// Seconds of all executions of a micro-batch.
struct Sums {
  double device = 0, host = 0;
};

class Calibration {
public:
  explicit Calibration(Proof &p)
      : p_(p), graph_(p.plan.graph), machine_(p.plan.machine), recurrent_(graph_.regions.size(), false),
        times_(graph_.operations.size(), 0), equal_(graph_.operations.size(), 1) {}

  /// By OperationId; nothing after findings.
  std::optional<std::vector<double>> times() {
    if (!readParameters())
      return std::nullopt;
    for (const Operation &op : graph_.operations)
      works_.push_back(workOf(op));
    for (RegionId r = 0; r < graph_.regions.size(); ++r)
      for (RegionId at = r; at > kUpdateRegion && at != kNone; at = graph_.regions[at].parent)
        if (contains(graph_.regions[at].name, ".time"))
          recurrent_[r] = true;
    countRows();
    Sums sums;
    for (OperationId id = 0; id < graph_.operations.size(); ++id)
      if (!add(id, sums))
        return std::nullopt;
    double waits = sums.device > 0 ? std::max(1.0, sums.host / sums.device) : 1;
    for (OperationId id = 0; id < graph_.operations.size(); ++id)
      times_[id] *= graph_.operations[id].region == kUpdateRegion ? 1 : waits;
    verifyHost();
    return times_;
  }

private:
  double of(const char *name) const { return parameters_.find(name)->second; }
  /// By an engine of inference, whose kernels no host launches.
  bool replays() const { return graph_.isInference() && of("launch") == 0; }

  bool readParameters() {
    for (const auto &[name, value] : machine_.fitted.values)
      if (!parameters_.emplace(name, value).second)
        p_.find(Code::WrongCost, machine_.location, "the calibration '{}' states '{}' twice", machine_.fitted.source,
                name);
    bool complete = true;
    for (const char *name : kParameterNames) {
      auto found = parameters_.find(name);
      // An engine of inference replays its kernels without the host.
      bool none = graph_.isInference() && std::ranges::find(kHostNames, std::string_view(name)) != kHostNames.end();
      bool good = found != parameters_.end() && std::isfinite(found->second) &&
                  (found->second > 0 || (none && found->second == 0));
      complete = complete && good;
      if (!good)
        p_.find(Code::WrongCost, machine_.location, "the calibration '{}' states no '{}' above zero",
                machine_.fitted.source, name);
    }
    if (machine_.memories.empty() || !(machine_.memories.front().bandwidth.value > 0)) {
      p_.find(Code::WrongCost, machine_.location, "'{}' is calibrated, but states no bandwidth", machine_.name);
      return false;
    }
    return complete;
  }

  /// Equal lookups of a region are one kernel.
  void countRows() {
    std::map<std::tuple<RegionId, Phase, std::string, double, double>, std::vector<OperationId>> equal;
    for (OperationId id = 0; id < graph_.operations.size(); ++id)
      if (const Operation &op = graph_.operations[id]; works_[id].sort == Sort::Rows)
        equal[{op.region, op.phase, op.type, works_[id].flops, works_[id].bytes}].push_back(id);
    for (const auto &[what, all] : equal)
      for (OperationId id : all)
        equal_[id] = static_cast<double>(all.size());
  }

  double streamed(double bytes, const char *efficiency) const {
    return bytes / (machine_.memories.front().bandwidth.value * of(efficiency));
  }

  /// Seconds of a product without starting it; nothing where no core has its type.
  std::optional<double> productTime(const Operation &op, const Work &work) const {
    auto [rate, runs] = productRate(machine_, op.type);
    double sixteen = productRate(machine_, "bf16").flopsPerSecond;
    if (!(rate > 0))
      return std::nullopt;
    bool many = work.sort != Sort::Product;
    const char *efficiency = runs == "fp8" || runs == "int8"          ? "fp8_efficiency"
                             : many                                   ? "attention_efficiency"
                             : op.type == "fp32" || op.type == "fp64" ? "fp32_efficiency"
                             : op.type == "tf32"                      ? "tf32_efficiency"
                                                                      : "product_efficiency";
    double shape = 1;
    if (work.sort != Sort::Attention) {
      double slower = sixteen > 0 ? std::sqrt(rate / sixteen) : 1;
      double results = work.products * work.m * work.n * (1 + work.k / 8192);
      shape = (1 + slower * of("product_wave") / std::max(results, 1.0)) *
              (1 + slower * of(many ? "attention_depth" : "product_depth") / work.k);
    }
    double traffic = streamed(work.bytes, "memory_efficiency");
    double seconds = std::max(work.flops * shape / (rate * of(efficiency)), traffic);
    return work.window && op.type == "tf32" ? seconds + 2 * traffic : seconds;
  }

  double updateTime(const Work &work) const {
    return work.sort == Sort::Rows ? streamed(work.bytes, "lookup_efficiency")
                                   : streamed(work.bytes * of("update_passes"), "memory_efficiency");
  }

  /// What replicas exchange during a micro-batch: their parts, over links or the network.
  double replicasTime(const Communication &communication) const {
    double devices = static_cast<double>(communication.devices), here = std::min(devices, kServer);
    double each = static_cast<double>(communication.payload) / devices;
    double links = (here - 1) * each / (kLink * of("link_efficiency"));
    double network = (devices - here) * each / (kNetwork * of("network_efficiency"));
    return std::max(links, network);
  }

  double exchangeTime(const Operation &op) const {
    double payload =
        static_cast<double>(op.communication ? op.communication->payload : std::max(op.bytesRead, op.bytesWritten));
    bool whole = (op.communication ? op.communication->kind : op.kind) == "all_reduce";
    bool joined = payload <= kJoined && !replays();
    return !joined ? of("link_latency") * (whole ? 1 : 0.5) : 0;
  }

  std::optional<double> deviceTime(const Operation &op, const Work &work) const {
    switch (work.sort) {
    case Sort::View:
      return 0;
    case Sort::Product:
    case Sort::Products:
    case Sort::Attention:
      return productTime(op, work);
    case Sort::Stream:
      return streamed(work.bytes, "memory_efficiency");
    case Sort::Softmax:
      return streamed(work.bytes, "softmax_efficiency");
    case Sort::Loss:
      return streamed(work.bytes * of("loss_passes"), "memory_efficiency");
    case Sort::Rows:
      return streamed(work.bytes, "lookup_efficiency");
    case Sort::Exchange:
      return exchangeTime(op);
    }
    return std::nullopt;
  }

  bool add(OperationId id, Sums &sums) {
    const Operation &op = graph_.operations[id];
    const Work &work = works_[id];
    if (work.sort == Sort::View)
      return true;
    if (op.region == kUpdateRegion) {
      times_[id] = updateTime(work);
      return true;
    }
    double executions = 1, kernels = 1, host = 0;
    RegionId at = op.region;
    for (; at > kUpdateRegion; at = graph_.regions[at].parent)
      executions *= static_cast<double>(graph_.regions[at].count);
    if (at == kUpdateRegion) // of a repeat of the update: its share of each micro-batch
      executions /= static_cast<double>(graph_.microbatches);
    if (op.communication && op.communication->axis == "data") {
      times_[id] = replicasTime(*op.communication);
      kernels = 0;
    } else {
      auto seconds = deviceTime(op, work);
      if (!seconds) {
        p_.find(Code::WrongCost, op.location, "'{}' has no peak for {}, which '{}' needs", machine_.name, op.type,
                op.name);
        return false;
      }
      bool recurrent = recurrent_[op.region];
      // In a step of a recurrent layer only products are kernels, and a library starts them.
      kernels = recurrent && !multiplies(work.sort) ? 0 : 1 / equal_[id];
      double floor = work.sort == Sort::Exchange ? 0 : of("kernel_launch_overhead") * kernels;
      host = of(recurrent ? "kernel_launch_overhead" : "launch") * kernels;
      times_[id] = *seconds + floor;
    }
    sums.device += times_[id] * executions;
    sums.host += host * executions;
    return true;
  }

  /// Trainings whose repeated block attends wait for the host once a micro-batch and a step.
  void verifyHost() {
    bool attends = false;
    for (OperationId id = 0; id < graph_.operations.size(); ++id) {
      RegionId r = graph_.operations[id].region;
      bool many = works_[id].sort == Sort::Products || works_[id].sort == Sort::Attention;
      attends |= r > kUpdateRegion && graph_.regions[r].count > 1 && !recurrent_[r] && many && !works_[id].window;
    }
    double share = attends ? 1 : kAhead;
    auto verify = [&](const char *what, Seconds said, double derived) {
      if (!close(said.value, derived))
        p_.find(Code::WrongCost, machine_.location, "the {} is {:.9g} s, the calibration '{}' gives {:.9g} s", what,
                said.value, machine_.fitted.source, derived);
    };
    verify("kernel launch overhead", machine_.host.kernel, of("kernel_launch_overhead"));
    verify("host overhead of a micro-batch", machine_.host.microbatch, share * of("host_overhead_per_microbatch"));
    verify("host overhead of a step", machine_.host.step, share * of("host_overhead_per_step"));
  }

  Proof &p_;
  const WorkGraph &graph_;
  const Machine &machine_;
  std::map<std::string, double> parameters_;
  std::vector<Work> works_;
  std::vector<bool> recurrent_; ///< by region
  std::vector<double> times_, equal_;
};

/// Whether a cost is of a core, where a calibration prices everything that was not measured elsewhere.
bool isPriced(const Operation &op, const OperationCost &cost) {
  return op.body == kNone && cost.core >= 0 && !op.givenSeconds;
}

} // namespace

void verifyCalibration(Proof &p) {
  const Machine &machine = p.plan.machine;
  bool expected = !machine.fitted.values.empty() && machine.costModel.empty();
  bool agrees = true;
  unsigned count = 0;
  for (OperationId id = 0; id < p.plan.graph.operations.size(); ++id)
    p.variants(id, [&](const OperationCost &cost) {
      const Operation &op = p.operation(id);
      bool calibrated = cost.model == kCalibratedModel;
      count += calibrated;
      if (calibrated == (expected && isPriced(op, cost)))
        return;
      agrees = false;
      p.find(Code::WrongCost, op.location, "'{}' is priced by cost model '{}', but '{}' has {} calibration", op.name,
             cost.model, machine.name, expected ? "a" : "no");
    });
  if (!agrees || count == 0)
    return;
  auto times = Calibration(p).times();
  if (!times)
    return;
  for (OperationId id = 0; id < times->size(); ++id)
    p.variants(id, [&](const OperationCost &cost) {
      const Operation &op = p.operation(id);
      if (cost.model == kCalibratedModel && !close(cost.time.value, (*times)[id]))
        p.find(Code::WrongCost, op.location, "time of '{}' is {:.9g} s, the calibration '{}' gives {:.9g} s", op.name,
               cost.time.value, machine.fitted.source, (*times)[id]);
    });
  p.checked("times of {} operations follow from their work, the calibration '{}' and the host that launches them",
            count, machine.fitted.source);
}

} // namespace accord
