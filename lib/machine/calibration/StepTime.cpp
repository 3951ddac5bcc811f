#include "lib/machine/calibration/StepTime.h"
#include "lib/machine/calibration/OperationTimes.h"
#include <algorithm>
#include <cmath>

namespace accord::calibrate {
namespace {

/// One part of the graph, and what of it is the forward pass.
struct Part {
  WorkTime all, forward;
  double ring = 0;                         ///< of what goes round beside attention, whether that hides it or not
  double updateBytes = 0, updatedRows = 0; ///< read and written; of tables, by their lookups
  double backward() const { return all.device() - forward.device(); }
};

class Evaluator {
public:
  Evaluator(const Candidate &candidate, const Parameters &parameters)
      : c(candidate), l(candidate.layout), p(parameters) {
    for (const Work &work : c.work) {
      Part &part = parts[static_cast<unsigned>(work.item.place)];
      if (work.item.place == Place::Update && work.item.work == WorkClass::Collective)
        continue; // of gradients: `exposed`
      if (work.item.place == Place::Update) {
        (work.item.work == WorkClass::Lookup ? part.updatedRows : part.updateBytes) +=
            work.item.bytes * work.item.count;
        continue;
      }
      WorkTime time = workTime(work, l, c.memoryBandwidth, parameters);
      part.all += time;
      part.ring += work.item.ring ? time.collective : 0;
      if (work.item.phase == Phase::Forward)
        part.forward += time;
    }
    for (Part &part : parts)
      part.all.collective -= std::min(part.ring, (l.context - 1) / l.context * part.all.attention);
  }

  StepTime run() const {
    const Part &block = parts[0], &first = parts[1], &last = parts[2];
    double layers = c.blocks / l.pipeline;
    // All devices wait alike for the hosts that launch their work.
    double waits = hostFactor(c.blocks * block.all.device() + first.all.device() + last.all.device(),
                              c.blocks * block.all.host + first.all.host + last.all.host);
    auto longer = [&](const Part &part) { return waits * part.all.device(); };
    double stage = layers * longer(block);
    bool single = l.pipeline <= 1, firstLonger = longer(first) > longer(last);
    double ends = single ? longer(first) + longer(last) : std::max(longer(first), longer(last));
    double other = single ? 0 : std::min(longer(first), longer(last));
    StepTime t;
    double m = l.microbatches, fill = l.pipeline - 1;
    auto steady = [&](double WorkTime::*what) {
      double end = single ? first.all.*what + last.all.*what : (firstLonger ? first : last).all.*what;
      return m * (layers * block.all.*what + end);
    };
    t.product = steady(&WorkTime::product);
    t.attention = steady(&WorkTime::attention);
    t.streaming = steady(&WorkTime::streaming);
    t.tensorParallel = steady(&WorkTime::collective);
    double cost = p[Parameter::HostOverheadPerMicrobatch] * l.hostShare;
    t.host = m * (stage + ends) - (t.product + t.attention + t.streaming + t.tensorParallel) +
             m * l.virtualStages * cost + p[Parameter::HostOverheadPerStep] * l.hostShare;
    t.transfers = single ? 0 : (m * l.virtualStages + fill) * transferTime();
    t.bubble = fill * (stage / l.virtualStages + cost) + other;
    double backward = waits * (layers * block.backward() + (single ? first.backward() + last.backward()
                                                                   : std::max(first.backward(), last.backward())));
    t.dataParallel = exposed(backward) + m * exchangeTime();
    t.optimizer = update();
    t.total = t.product + t.attention + t.streaming + t.host + t.tensorParallel + t.transfers + t.bubble +
              t.dataParallel + t.optimizer;
    // The host's workers prepare the next batch meanwhile.
    double loading = std::max(c.images * p[Parameter::DecodeCost] - t.total, 0.0);
    t.host += loading;
    t.total += loading;
    return t;
  }

private:
  /// Activations forward and their gradients back, between two stages. Each device of the tensor
  /// axis sends its part (Narayanan et al., SC 2021, section 4.1).
  double transferTime() const {
    Line line = transferLine(l, p, /*interNode=*/l.tensor * l.data >= l.devicesPerNode);
    double part = l.sequence ? c.boundaryBytes : c.boundaryBytes / l.tensor;
    return 2 * (line.latency + line.perByte * part);
  }

  /// Rows of tables that other devices hold come, and their gradients go back.
  double exchangeTime() const { return rowsTime(2 * (l.data - 1) / l.data * c.allToAllBytes, l, p); }

  double parametersOfDevice() const { return c.blockParameters / l.pipeline + c.otherParameters; }

  /// Of gradients, and of weights that ZeRO gathers: in each pass of a micro-batch those of the
  /// layers behind come or go while a layer computes, but for a share that waits.
  double exposed(double backward) const {
    double n = l.data;
    if (n <= 1)
      return 0;
    double bytes = 2 * parametersOfDevice() * (n - 1) / n; // 16 bit
    double replicasPerNode = std::min(std::max(l.devicesPerNode / l.tensor, 1.0), n);
    double half = bytes / gradientSyncBandwidth(l, replicasPerNode, p); // a gather or a scatter
    GradientOverlap hiding = gradientOverlapOf(p);
    double each = (l.zero == 2 ? 1 : l.zero >= 3 ? 2 : 0) * l.microbatches * half;
    double once = l.zero >= 2 ? half : 2 * half;
    return (1 - hiding.maxOverlap) * each + once -
           std::min(hiding.maxOverlap * once, hiding.overlapFraction * backward);
  }

  double update() const {
    double sum = c.blockParameters + c.otherParameters;
    double bytes = parts[3].updateBytes * (sum > 0 ? parametersOfDevice() / sum : 1);
    return updateTime(bytes, c.memoryBandwidth, p) / (l.zero >= 1 ? l.data : 1) +
           updatedRowsTime(parts[3].updatedRows, c.memoryBandwidth, p);
  }

  const Candidate &c;
  const Layout &l;
  const Parameters &p;
  Part parts[kPlaces];
};

/// Bytes of weights, gradients and the optimizer's states of a parameter (Rajbhandari et al., 2020,
/// with gradients of 32 bit).
constexpr double kStateBytes = 18;

} // namespace

std::variant<Candidate, std::string> candidateOf(const Profile &profile, const Layout &layout, const Machine &machine) {
  Candidate out;
  if (machine.memories.empty() || !(machine.memories.front().bandwidth.value > 0))
    return "'" + machine.name + "' has no memory with a bandwidth";
  out.layout = layout;
  out.layout.hostShare = profile.replayed ? 0 : profile.hostShare;
  out.layout.replayed = profile.replayed;
  out.blocks = profile.blocks;
  out.boundaryBytes = profile.boundaryBytes;
  out.blockParameters = profile.blockParameters;
  // Tables with sparse gradients stay where they are: the rows that are looked up are exchanged.
  out.otherParameters = profile.otherParameters;
  bool sparse = profile.tableParameters > 0;
  out.memoryBandwidth = machine.memories.front().bandwidth.value / layout.parts;
  for (const ProfileItem &item : profile.items) {
    auto work = workOf(item, machine, layout.parts);
    if (!work)
      return "'" + machine.name + "' has no peak for " + item.type;
    out.work.push_back(std::move(*work));
  }
  for (const ProfileItem &item : profile.items) // a look-up reads rows and writes as much
    if (sparse && item.work == WorkClass::Lookup && item.phase == Phase::Forward)
      out.allToAllBytes += item.bytes * item.count / 2;
  double own = out.blockParameters / layout.pipeline + out.otherParameters;
  double kept =
      profile.activationBytes * profile.blocks / layout.pipeline * std::min(layout.microbatches, layout.pipeline);
  out.fits = kStateBytes * own / (layout.zero >= 2 ? layout.data : 1) + kept <
             machine.memories.front().capacity.value / layout.parts;
  return out;
}

StepTime stepTime(const Candidate &candidate, const Parameters &parameters) {
  return Evaluator(candidate, parameters).run();
}

StepTime stepTime(const std::vector<Candidate> &candidates, const Parameters &parameters, size_t *chosen) {
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
  const Parameters &p = parameters;
  double steps = 2 * (ring.devices - 1), part = ring.bytes / ring.devices;
  auto with = [&](double hop, double rate) {
    return p[Parameter::LinkLatency] + steps * hop * p[Parameter::LinkStep] +
           steps * part / (ring.share * rate * ring.link * p[Parameter::LinkEfficiency]);
  };
  return std::min(with(1, 1), with(0.56, 0.92)) + p[Parameter::LinkCopies] * part / ring.memory;
}

} // namespace accord::calibrate
