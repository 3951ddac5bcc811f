#include "lib/calibrate/StepTime.h"
#include <algorithm>
#include <cmath>

namespace accord::calibrate {
namespace {

/// All-reduces of parameters' size (norms under sequence parallelism) are joined into one per step.
constexpr double kJoinedBytes = 1e5;
/// Share of a micro-batch's time in which gradients become ready and can be sent, and of a last
/// stage's.
constexpr double kHiddenOfStep = 0.6, kHiddenOfStage = 0.3;

/// Reductions longer than this are split among compute units (weight gradients of convolutions: a
/// small result, a long sum).
constexpr double kSplitDepth = 8192;

/// Bytes per second of PCI Express 3.0 x16, as NCCL counts with it (src/graph/topo.h).
constexpr double kHostBus = 12e9;

struct View {
  const Parameters &p;
  double operator()(Parameter which) const { return p[static_cast<size_t>(which)]; }
};

/// Time on the device and on the host of one part of the graph, and what the device's is made of.
struct Part {
  double product = 0, attention = 0, streaming = 0, collective = 0, host = 0, updateBytes = 0;
  double device() const { return product + attention + streaming + collective; }
  double longer() const { return std::max(device(), host); }
};

class Evaluator {
public:
  Evaluator(const Candidate &candidate, const Parameters &parameters)
      : c(candidate), l(candidate.layout), p{parameters} {
    insideServer = l.tensor <= l.devicesPerServer;
    double between = l.network * p(Parameter::NetworkEfficiency);
    link = insideServer ? p(Parameter::LinkBandwidth)
                        : std::min(p(Parameter::LinkBandwidth), between * l.devicesPerServer);
    latency = p(insideServer ? Parameter::LinkLatency : Parameter::NetworkLatency);
    for (const Candidate::Work &work : c.work)
      add(work);
  }

  StepTime run() const {
    const Part &block = parts[0], &first = parts[1], &last = parts[2];
    double layers = c.blocks / l.pipeline;
    double stage = layers * block.longer();
    bool single = l.pipeline <= 1;
    double ends = single ? first.longer() + last.longer() : std::max(first.longer(), last.longer());
    double transfer = single ? 0 : transferTime();
    StepTime t;
    double m = l.microbatches;
    auto steady = [&](double Part::*what) {
      double end = single ? first.*what + last.*what
                          : (first.longer() > last.longer() ? first.*what : last.*what);
      return m * (layers * block.*what + end);
    };
    t.product = steady(&Part::product);
    t.attention = steady(&Part::attention);
    t.streaming = steady(&Part::streaming);
    t.tensorParallel = steady(&Part::collective);
    t.host = m * (stage + ends) - (t.product + t.attention + t.streaming + t.tensorParallel) +
             m * p(Parameter::MicrobatchCost) + p(Parameter::StepCost);
    t.transfers = m * transfer * l.chunks + (l.pipeline - 1) * 2 * transfer;
    t.bubble = (l.pipeline - 1) * stage / l.chunks;
    t.dataParallel = exposed(stage, first.longer() + last.longer());
    t.optimizer = update();
    t.dataParallel += m * exchangeTime();
    t.total = t.product + t.attention + t.streaming + t.host + t.tensorParallel + t.transfers +
              t.bubble + t.dataParallel + t.optimizer;
    // The host's workers prepare the next batch meanwhile.
    double waits = std::max(c.images * p(Parameter::DecodeCost) - t.total, 0.0);
    t.host += waits;
    t.total += waits;
    return t;
  }

private:
  void add(const Candidate::Work &work) {
    const ProfileItem &item = work.item;
    Part &part = parts[static_cast<size_t>(item.place)];
    if (item.place == Place::Update) {
      part.updateBytes += item.bytes * item.count;
      return;
    }
    double kernels = kernelsOf(item);
    double floor = p(Parameter::KernelFloor) * kernels;
    double bandwidth = c.memoryBandwidth;
    // A library starts the steps of its recurrent layers itself, without the framework.
    part.host += p(item.recurrent ? Parameter::KernelFloor : Parameter::Launch) * kernels;
    switch (item.work) {
    case WorkClass::Product:
    case WorkClass::Batched: {
      bool batched = item.work == WorkClass::Batched;
      double shape = 1;
      if (item.m > 0)
        shape = (1 + work.rate * p(Parameter::ProductWave) /
                         std::max(item.batch * item.m * item.n * (1 + item.k / kSplitDepth), 1.0)) *
                (1 + work.rate * p(batched ? Parameter::AttentionDepth : Parameter::ProductDepth) /
                         item.k);
      double compute = item.flops * shape / (work.peak * p.p[work.efficiency]);
      double moved = item.bytes / (bandwidth * p(Parameter::MemoryEfficiency));
      double time = std::max(compute, moved);
      // Tensor cores take convolutions with channels innermost. Training in tf32 keeps them
      // outermost, as in fp32, so that each operand and result is transposed.
      if (item.window && item.type == "tf32")
        time += 2 * moved;
      (batched ? part.attention : part.product) += time * item.count + floor;
      return;
    }
    case WorkClass::Streaming:
      part.streaming +=
          item.bytes / (bandwidth * p(Parameter::MemoryEfficiency)) * item.count + floor;
      return;
    case WorkClass::Softmax:
      part.streaming +=
          item.bytes / (bandwidth * p(Parameter::SoftmaxEfficiency)) * item.count + floor;
      return;
    case WorkClass::Loss:
      part.streaming += item.bytes * p(Parameter::LossPasses) /
                            (bandwidth * p(Parameter::MemoryEfficiency)) * item.count +
                        floor;
      return;
    case WorkClass::Lookup:
      part.streaming +=
          item.bytes / (bandwidth * p(Parameter::LookupEfficiency)) * item.count + floor;
      return;
    case WorkClass::Collective:
      collective(item, part);
      return;
    }
  }

  /// In a recurrent layer's step, element-wise work is part of the products' kernels (Appleyard et
  /// al., Optimizing Performance of Recurrent Neural Networks on GPUs, 2016, section 3). All tables
  /// of equal rows are looked up by one kernel.
  static double kernelsOf(const ProfileItem &item) {
    if (item.recurrent && item.work != WorkClass::Product && item.work != WorkClass::Batched)
      return 0;
    return item.work == WorkClass::Lookup ? std::min(item.count, 1.0) : item.count;
  }

  void collective(const ProfileItem &item, Part &part) const {
    double n = l.tensor;
    bool whole = item.exchange == "all_reduce"; // gathers and scatters are half of one
    double time = (whole ? 2 : 1) * (n - 1) / n * item.payload / link;
    if (item.payload > kJoinedBytes) {
      time += latency * (whole ? 1 : 0.5);
      part.host += p(Parameter::LaunchCollective) * (n - 1) * item.count;
    }
    part.collective += time * item.count;
  }

  /// Activations forward and their gradients back, between two stages. Each device of the tensor
  /// axis sends its part, and they gather it behind (Narayanan et al., SC 2021, section 4.1).
  double transferTime() const {
    bool crosses = l.tensor * l.data >= l.devicesPerServer;
    double bandwidth =
        crosses ? l.network * p(Parameter::StreamEfficiency) : p(Parameter::LinkBandwidth);
    double part = l.sequence ? c.boundaryBytes : c.boundaryBytes / l.tensor;
    double time =
        p(crosses ? Parameter::NetworkLatency : Parameter::LinkLatency) + part / bandwidth;
    if (l.tensor > 1 && !l.sequence)
      time += c.boundaryBytes / p(Parameter::LinkBandwidth);
    return 2 * time;
  }

  /// Rows of tables that other devices hold come, and their gradients go back. To devices that no
  /// link reaches they take the host's bus at the same time.
  double exchangeTime() const {
    double bytes = 2 * (l.data - 1) / l.data * c.exchanged, inside = p(Parameter::LinkBandwidth);
    if (l.data > l.devicesPerServer)
      return bytes / std::min(inside, l.network * p(Parameter::NetworkEfficiency));
    return std::max((1 - l.unlinked) * bytes / inside, l.unlinked * bytes / kHostBus);
  }

  double parametersOfDevice() const { return c.blockParameters / l.pipeline + c.otherParameters; }

  double exposed(double stage, double ends) const {
    double n = l.data;
    if (n <= 1)
      return 0;
    double together = std::min(std::max(l.devicesPerServer / l.tensor, 1.0), n);
    double bandwidth = p(Parameter::LinkBandwidth);
    if (n > together)
      bandwidth = std::min(bandwidth, together * l.network * p(Parameter::StreamEfficiency));
    double bytes = 2 * parametersOfDevice() * (n - 1) / n; // 16 bit
    double m = l.microbatches;
    double time = (l.zero >= 3 ? 2 * m + 1 : 2) * bytes / bandwidth;
    double window = l.zero >= 3       ? m * (stage + ends)
                    : l.pipeline <= 1 ? kHiddenOfStep * (stage + ends)
                                      : kHiddenOfStage * stage;
    return time - (1 - p(Parameter::DataParallelExposed)) * std::min(time, window);
  }

  double update() const {
    double all = c.blockParameters + c.otherParameters;
    double bytes = parts[3].updateBytes * (all > 0 ? parametersOfDevice() / all : 1);
    return bytes * p(Parameter::UpdatePasses) /
           (c.memoryBandwidth * p(Parameter::MemoryEfficiency)) / (l.zero >= 1 ? l.data : 1);
  }

  const Candidate &c;
  const Layout &l;
  View p;
  Part parts[kPlaces];
  bool insideServer = true;
  double link = 1, latency = 0;
};

Parameter efficiencyOf(const ProfileItem &item, bool fp8) {
  if (item.work == WorkClass::Batched)
    return Parameter::AttentionEfficiency;
  if (fp8 && item.work == WorkClass::Product)
    return Parameter::Fp8Efficiency;
  if (item.type == "fp32" || item.type == "fp64")
    return Parameter::Fp32Efficiency;
  return item.type == "tf32" ? Parameter::Tf32Efficiency : Parameter::ProductEfficiency;
}

/// Bytes of weights, gradients and the optimizer's states of a parameter (Rajbhandari et al., 2020,
/// with gradients of 32 bit).
constexpr double kStateBytes = 18;
constexpr double kMostlyTables = 4;

} // namespace

std::variant<Candidate, std::string> candidateOf(const Profile &profile, const Layout &layout,
                                                 const Machine &machine, bool fp8) {
  Candidate out;
  if (machine.memories.empty() || !(machine.memories.front().bandwidth.value > 0))
    return "'" + machine.name + "' has no memory with a bandwidth";
  out.layout = layout;
  out.blocks = profile.blocks;
  out.boundaryBytes = profile.boundaryBytes;
  out.blockParameters = profile.blockParameters;
  // Tables that dwarf the rest (recommenders) stay where they are and are updated row by row, with
  // the look-ups' gradients: they are neither exchanged nor swept by the optimizer.
  double dense = profile.blockParameters + profile.otherParameters;
  bool sparse = profile.tableParameters > kMostlyTables * dense;
  out.otherParameters = profile.otherParameters + (sparse ? 0 : profile.tableParameters);
  double swept = sparse ? dense / (dense + profile.tableParameters) : 1;
  out.memoryBandwidth = machine.memories.front().bandwidth.value / layout.parts;
  double sixteen = peakOf(machine, "bf16") / layout.parts;
  for (const ProfileItem &item : profile.items) {
    bool low = fp8 && item.work == WorkClass::Product;
    double peak = peakOf(machine, low ? "fp8" : item.type) / layout.parts;
    if (!(peak > 0) && (item.work == WorkClass::Product || item.work == WorkClass::Batched))
      return "'" + machine.name + "' has no peak for " + (low ? "fp8" : item.type);
    double rate = sixteen > 0 && peak > 0 ? std::sqrt(peak / sixteen) : 1;
    out.work.push_back({item, peak, rate, static_cast<uint8_t>(efficiencyOf(item, fp8))});
    if (item.place == Place::Update)
      out.work.back().item.bytes *= swept;
  }
  for (const ProfileItem &item : profile.items) // a look-up reads rows and writes as much
    if (sparse && item.work == WorkClass::Lookup && item.phase == Phase::Forward)
      out.exchanged += item.bytes * item.count / 2;
  double own = out.blockParameters / layout.pipeline + out.otherParameters;
  double kept = profile.keptBytes * profile.blocks / layout.pipeline *
                std::min(layout.microbatches, layout.pipeline);
  out.fits = kStateBytes * own / (layout.zero >= 2 ? layout.data : 1) + kept <
             machine.memories.front().capacity.value / layout.parts;
  return out;
}

StepTime stepTime(const Candidate &candidate, const Parameters &parameters) {
  return Evaluator(candidate, parameters).run();
}

StepTime stepTime(const std::vector<Candidate> &candidates, const Parameters &parameters,
                  size_t *chosen) {
  StepTime best;
  bool found = false, bestFits = false;
  for (size_t i = 0; i < candidates.size(); ++i) {
    StepTime t = stepTime(candidates[i], parameters);
    bool fits = candidates[i].fits;
    if (found && (bestFits > fits || (bestFits == fits && t.total >= best.total)))
      continue;
    best = t, found = true, bestFits = fits;
    if (chosen)
      *chosen = i;
  }
  return best;
}

double allReduceTime(const Ring &ring, const Parameters &parameters) {
  View p{parameters};
  double steps = 2 * (ring.devices - 1), part = ring.bytes / ring.devices;
  auto with = [&](double hop, double rate) {
    return p(Parameter::LinkLatency) + steps * hop * p(Parameter::LinkStep) +
           steps * part / (ring.share * rate * p(Parameter::LinkBandwidth));
  };
  return std::min(with(1, 1), with(0.56, 0.92)) + p(Parameter::LinkCopies) * part / ring.memory;
}

} // namespace accord::calibrate
