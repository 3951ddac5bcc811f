#include "lib/placement/output/PlacementCheck.h"
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/solve/Place.h"
#include <algorithm>

using namespace llvm;
namespace accord {
using json::Path;
namespace {

constexpr double kMost = 0x1p61;

bool fail(Path at, StringLiteral message) {
  at.report(message);
  return false;
}

/// The dearest form of each layer, all of them on one device, each micro-batch in flight.
bool bounded(const PlacementProblem &p) {
  auto batch = static_cast<double>(p.batch);
  double time = static_cast<double>(p.perMicrobatch) * batch * 2 + static_cast<double>(p.perStep) +
                static_cast<double>(p.leastStep);
  double tied = 0, memory = 0, bytes = 0, weights = 0, gradients = 0;
  for (const PlacementProblem::Layer &layer : p.layers) {
    double most = 0, largest = 0, update = 0, moved = 0, synced = 0;
    for (const auto &cost : p.classes[layer.of].costs)
      if (cost) {
        double again = 0, kept = 0, working = 0;
        for (const PlacementProblem::Keep &keep : cost->keeps) {
          again = std::max(again, static_cast<double>(keep.again));
          kept =
              std::max(kept, static_cast<double>(keep.kept) + static_cast<double>(keep.hostKept));
          working = std::max(working, static_cast<double>(keep.working));
        }
        most = std::max(most, static_cast<double>(cost->forward) +
                                  static_cast<double>(cost->backward) +
                                  static_cast<double>(cost->weight) + again);
        largest =
            std::max(largest, static_cast<double>(cost->resident) +
                                  static_cast<double>(cost->hostResident) + kept * batch + working);
        tied = std::max(tied, static_cast<double>(cost->tied));
        update = std::max(update, static_cast<double>(cost->update));
        moved = std::max(moved, static_cast<double>(cost->weights));
        synced = std::max(synced, static_cast<double>(cost->gradients) +
                                      static_cast<double>(cost->expertGradients));
      }
    time += most * batch + update;
    memory += largest;
    weights += moved;
    gradients += synced;
  }
  for (const PlacementProblem::Edge &edge : p.edges)
    bytes += static_cast<double>(edge.bytes);
  // Latency and bytes of what a step sends at most, whatever the stages.
  auto sends = static_cast<double>(p.edges.size()), layers = static_cast<double>(p.layers.size());
  double links = 0, gathers = 0, syncs = 0;
  for (const PlacementProblem::Link &link : p.links)
    for (const LinearTime &way : {link.inside, link.across})
      links = std::max(links,
                       (way.latency * sends + way.perByte * bytes) * batch +
                           (way.latency + way.perByte * tied) * static_cast<double>(p.ties.size()));
  for (const PlacementProblem::Form &form : p.forms) {
    for (const LinearTime &way : form.gather)
      gathers = std::max(gathers, (way.latency * layers + way.perByte * weights) * batch);
    for (const auto *list : {&form.syncs, &form.expertSyncs})
      for (const PlacementProblem::Sync &sync : *list)
        for (const LinearTime &way : sync.ways)
          syncs = std::max(syncs, way.latency * layers + way.perByte * gradients);
  }
  time += 2 * (links + gathers + syncs);
  return time < kMost && memory < kMost && bytes * batch < kMost && weights < kMost &&
         gradients < kMost;
}

} // namespace

bool checkIndices(const PlacementProblem &p, Path at) {
  if (p.kinds.empty() || p.forms.empty() || p.layers.empty())
    return fail(at, "a problem without kinds, forms or layers");
  if (p.links.size() != p.kinds.size() * p.kinds.size())
    return fail(at.field("links"), "expected one for each pair of kinds");
  for (unsigned i = 0; i < p.forms.size(); ++i) {
    const PlacementProblem::Form &form = p.forms[i];
    if (form.kind >= p.kinds.size())
      return fail(at.field("forms").index(i).field("kind"), "no kind has this number");
    if (form.tensor > p.kinds[form.kind].devices ||
        form.data > p.kinds[form.kind].devices / form.tensor)
      return fail(at.field("forms").index(i), "more devices than there are");
  }
  for (unsigned i = 0; i < p.classes.size(); ++i) {
    if (p.classes[i].costs.size() != p.forms.size())
      return fail(at.field("classes").index(i).field("costs"), "expected one for each form");
    for (const auto &cost : p.classes[i].costs)
      if (cost && (cost->residentWeights > cost->resident ||
                   cost->residentGradients > cost->resident - cost->residentWeights))
        return fail(at.field("classes").index(i).field("costs"),
                    "weights and gradients are more than what is resident");
  }
  for (unsigned i = 0; i < p.layers.size(); ++i) {
    if (p.layers[i].of >= p.classes.size())
      return fail(at.field("layers").index(i).field("class"), "no class has this number");
    for (PlacementProblem::Id pin : p.layers[i].pins)
      if (pin >= p.pins.size())
        return fail(at.field("layers").index(i).field("pins"), "no pin has this number");
  }
  for (unsigned i = 0; i < p.pins.size(); ++i)
    for (PlacementProblem::Id kind : p.pins[i].kinds)
      if (kind >= p.kinds.size())
        return fail(at.field("pins").index(i).field("kinds"), "no kind has this number");
  for (unsigned i = 0; i < p.edges.size(); ++i)
    if (p.edges[i].from >= p.edges[i].to || p.edges[i].to >= p.layers.size())
      return fail(at.field("edges").index(i), "expected an earlier and a later layer");
  for (unsigned i = 0; i < p.ties.size(); ++i)
    if (p.ties[i].a >= p.ties[i].b || p.ties[i].b >= p.layers.size())
      return fail(at.field("ties").index(i), "expected an earlier and a later layer");
  if (p.hidden > 1)
    return fail(at.field("hidden"), "a share above one");
  if (p.hides > 1)
    return fail(at.field("hides"), "a share above one");
  if (!bounded(p))
    return fail(at, "times or sizes beyond what can be counted");
  return true;
}

bool checkPlan(const PlacementProblem &problem, const Placement &plan, const PlacementWorth &worth,
               Path at) {
  if (plan.stages.empty() || plan.stages.size() > problem.layers.size() ||
      plan.chunks > static_cast<int64_t>(plan.stages.size()) || plan.microbatches > problem.batch)
    return fail(at.field("plan"), "stages, chunks or micro-batches out of range");
  if (static_cast<double>(plan.microbatches) * static_cast<double>(plan.stages.size()) >
      static_cast<double>(MostPasses))
    return fail(at.field("plan"), "more passes than can be looked at");
  for (const PlacedStage &stage : plan.stages) {
    if (stage.form >= problem.forms.size())
      return fail(at.field("plan").field("stages"), "no form has this number");
    const PlacementProblem::Form &form = problem.forms[stage.form];
    if (static_cast<double>(form.data) * static_cast<double>(form.microbatch) *
            static_cast<double>(plan.microbatches) >
        kMost)
      return fail(at.field("plan").field("stages"), "more samples than can be counted");
  }
  if (!faults(problem, plan).empty())
    return fail(at.field("plan"), "no plan of this problem: a layer, form, schedule or device does "
                                  "not fit");
  size_t stages = plan.stages.size();
  if (worth.times.size() != stages || worth.inFlight.size() != stages ||
      worth.memory.size() != stages / static_cast<size_t>(plan.chunks) ||
      worth.host.size() != worth.memory.size())
    return fail(at.field("worth"), "expected times and micro-batches in flight of each stage, and "
                                   "memory of each device group");
  for (unsigned s = 0; s < stages; ++s)
    if (worth.inFlight[s] > plan.microbatches)
      return fail(at.field("worth").field("in_flight").index(s), "more than there are");
  // Times that were made up are found by `verify`; here they only have to stay countable.
  double sum = 0;
  for (const StageTimes &t : worth.times)
    sum += static_cast<double>(t.forward) + static_cast<double>(t.backward) +
           static_cast<double>(t.weight) + 2 * static_cast<double>(t.send) +
           static_cast<double>(t.finish);
  if (sum * static_cast<double>(plan.microbatches) > kMost)
    return fail(at.field("worth").field("times_ps"), "times beyond what can be counted");
  return true;
}

} // namespace accord
