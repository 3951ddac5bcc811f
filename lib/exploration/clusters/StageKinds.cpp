#include "lib/exploration/clusters/StageKinds.h"
#include <algorithm>
#include <tuple>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// All numbers of a candidate, less is better; for forms of equal degrees in equal places.
std::vector<double> numbersOf(const StageCandidate &candidate) {
  const PlacementProblem &problem = *candidate.problem;
  std::vector<double> all{candidate.cost};
  for (const PlacementProblem::Kind &kind : problem.kinds)
    all.push_back(-static_cast<double>(kind.memory));
  for (int64_t of : {problem.perMicrobatch, problem.perStep})
    all.push_back(static_cast<double>(of));
  for (const PlacementProblem::LayerClass &cls : problem.classes)
    for (const auto &cost : cls.costs) {
      if (!cost) {
        all.push_back(1e300);
        continue;
      }
      for (int64_t of :
           {cost->forward, cost->backward, cost->weight, cost->update, cost->resident,
            cost->gradients, cost->expertGradients, cost->weights, cost->hostResident, cost->tied})
        all.push_back(static_cast<double>(of));
      for (const PlacementProblem::Keep &keep : cost->keeps)
        for (int64_t of : {keep.again, keep.kept, keep.working, keep.hostKept})
          all.push_back(static_cast<double>(of));
    }
  return all;
}

bool sameForms(const PlacementProblem &a, const PlacementProblem &b) {
  if (a.forms.size() != b.forms.size())
    return false;
  for (size_t form = 0; form < a.forms.size(); ++form)
    if (!sameDegrees(a.forms[form], b.forms[form]))
      return false;
  for (size_t cls = 0; cls < a.classes.size(); ++cls)
    for (size_t form = 0; form < a.forms.size(); ++form) {
      const auto &x = a.classes[cls].costs[form], &y = b.classes[cls].costs[form];
      if (x.has_value() != y.has_value() || (x && x->keeps.size() != y->keeps.size()))
        return false;
      for (size_t keep = 0; x && keep < x->keeps.size(); ++keep)
        if (x->keeps[keep].policy != y->keeps[keep].policy)
          return false;
    }
  return true;
}

} // namespace

bool sameDegrees(const PlacementProblem::Form &a, const PlacementProblem::Form &b) {
  auto of = [](const PlacementProblem::Form &form) {
    return std::tie(form.tensor, form.sequence, form.data, form.zero, form.microbatch, form.expert,
                    form.tables, form.ringOverlap, form.hostStates, form.hostWeights, form.order);
  };
  return of(a) == of(b);
}

StageKinds stageKinds(const std::vector<StageCandidate> &candidates,
                      const PlacementProblem::Form &degrees, double scale) {
  StageKinds made;
  PlacementProblem &all = made.problem;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const PlacementProblem &one = *candidates[i].problem;
    auto form = std::find_if(one.forms.begin(), one.forms.end(),
                             [&](const auto &other) { return sameDegrees(other, degrees); });
    if (form == one.forms.end())
      continue;
    auto at = static_cast<size_t>(form - one.forms.begin());
    if (made.kinds.empty()) {
      all = one;
      all.kinds.clear(), all.forms.clear(), all.links.clear();
      for (PlacementProblem::LayerClass &cls : all.classes)
        cls.costs.clear();
      for (PlacementProblem::Pin &pin : all.pins)
        pin.kinds.clear(); // on the devices that are mined, whatever their design
      all.sameForm = false;
      all.objective = scale > 0 ? PlacementObjective::TdpTime : PlacementObjective::StepTime;
      int64_t devices = one.kinds.front().devices;
      all.limits.devices = all.limits.devices > 0 ? std::min(all.limits.devices, devices) : devices;
    }
    all.perMicrobatch = std::max(all.perMicrobatch, one.perMicrobatch);
    all.perStep = std::max(all.perStep, one.perStep);
    PlacementProblem::Kind kind = one.kinds.front();
    kind.name += "_" + std::to_string(made.kinds.size() + 1);
    if (scale > 0)
      kind.tdpWatts = candidates[i].cost * scale;
    all.kinds.push_back(std::move(kind));
    all.forms.push_back(*form);
    all.forms.back().kind = static_cast<Id>(made.kinds.size());
    for (size_t cls = 0; cls < all.classes.size(); ++cls)
      all.classes[cls].costs.push_back(one.classes[cls].costs[at]);
    made.kinds.push_back(i);
  }
  for (size_t a : made.kinds)
    for (size_t b : made.kinds) {
      PlacementProblem::Link link = candidates[a].problem->links.front();
      if (a != b)
        link.inside = link.across;
      all.links.push_back(link);
    }
  return made;
}

std::vector<StageCandidate> undominated(std::vector<StageCandidate> candidates) {
  std::vector<std::vector<double>> numbers;
  for (const StageCandidate &candidate : candidates)
    numbers.push_back(numbersOf(candidate));
  std::vector<StageCandidate> kept;
  for (size_t i = 0; i < candidates.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < candidates.size() && !beaten; ++j) {
      if (i == j || numbers[i].size() != numbers[j].size() ||
          !sameForms(*candidates[i].problem, *candidates[j].problem))
        continue;
      beaten = true;
      for (size_t n = 0; n < numbers[i].size() && beaten; ++n)
        beaten = numbers[j][n] <= numbers[i][n];
      beaten = beaten && (numbers[i] != numbers[j] || j < i); // of equal ones the first stays
    }
    if (!beaten)
      kept.push_back(candidates[i]);
  }
  return kept;
}

} // namespace accord
