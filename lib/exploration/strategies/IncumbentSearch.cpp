#include "lib/exploration/strategies/IncumbentSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord {
namespace {

/// Of all work, while something is found.
constexpr double kShare = 0.7, kMinShare = 1.0 / 16;
constexpr unsigned kPatience = 6; ///< rounds in vain, after which the share falls
constexpr size_t kDrawn = 96;     ///< designs of a round that begins anew
constexpr size_t kLot = 4;        ///< values at once, whatever the threads
constexpr size_t kMaxPairs = 1024, kMaxSteps = 40, kMaxKnown = size_t{1} << 17;
constexpr double kCheap = 16;    ///< bounds for a value
constexpr double kRate = 0.3;    ///< of learning
constexpr size_t kSamples = 192; ///< the latest ones, that are learned from
constexpr unsigned kEpochs = 12;
/// A candidate that promises so much more than the incumbent is not valued.
constexpr double kHope = 1.03;

} // namespace

IncumbentSearch::IncumbentSearch(MiningRun &run) : run_(run), random_(run.options().seed) {
  const std::vector<DesignParameter> &parameters = run.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    corrections_.emplace_back(parameters[i].labels.size(), 0.0);
    if (parameters[i].labels.size() > 1)
      open_.push_back(i);
  }
}

double IncumbentSearch::work() const {
  const MiningResult &result = run_.result();
  return static_cast<double>(result.bounds) + run_.problem().boundsPerValue() * static_cast<double>(result.evaluations);
}

bool IncumbentSearch::isDue() const {
  if (open_.empty() || run_.isExhausted() || !mayBound(kDrawn))
    return false;
  double share = std::max(kMinShare, quiet_ <= kPatience ? kShare : kShare * kPatience / quiet_);
  return spent_ <= share * work();
}

bool IncumbentSearch::mayBound(size_t count) const {
  // No more than half of what may be bounded in all.
  return count <= run_.boundsLeft() &&
         (run_.options().bounds == UINT64_MAX || spentBounds_ + count <= run_.options().bounds / 2);
}

double IncumbentSearch::correction(const Design &design) const {
  double sum = mean_;
  for (size_t i : open_)
    sum += corrections_[i][design[i]];
  return sum;
}

double IncumbentSearch::predicted(const Design &design, double bound) const {
  return std::max(bound, std::numeric_limits<double>::min()) * std::exp(std::clamp(correction(design), 0.0, 5.0));
}

void IncumbentSearch::learn(const Design &design, double bound, double value) {
  if (!(bound > 0) || !std::isfinite(value))
    return;
  samples_.push_back({design, std::log(std::max(value / bound, 1.0))});
  if (samples_.size() > kSamples)
    samples_.pop_front();
  for (unsigned epoch = 0; epoch < kEpochs; ++epoch)
    for (const auto &[seen, ratio] : samples_) {
      double step = kRate * (ratio - correction(seen)) / static_cast<double>(open_.size() + 1);
      mean_ += step;
      for (size_t i : open_) {
        std::vector<double> &of = corrections_[i];
        of[seen[i]] += step;
        if (run_.parameters()[i].numbers.empty())
          continue;
        if (seen[i] > 0) // numbers beside it are like it
          of[seen[i] - 1] += step / 2;
        if (seen[i] + 1 < of.size())
          of[seen[i] + 1] += step / 2;
      }
    }
}

std::vector<IncumbentSearch::Candidate> IncumbentSearch::candidates(const std::vector<Design> &designs, bool valued) {
  std::vector<DesignBox> boxes;
  std::vector<const Design *> asked;
  if (bounds_.size() > kMaxKnown)
    bounds_.clear();
  for (const Design &design : designs)
    if (bounds_.try_emplace(design, -1).second) {
      boxes.push_back({design, design});
      asked.push_back(&design);
    }
  if (!boxes.empty() && !mayBound(boxes.size())) {
    for (const Design *design : asked)
      bounds_.erase(*design);
    return {};
  }
  std::vector<double> found = boxes.empty() ? std::vector<double>() : run_.bounds(boxes);
  spentBounds_ += boxes.size();
  for (size_t i = 0; i < asked.size(); ++i)
    bounds_[*asked[i]] = found[i];
  std::vector<Candidate> all;
  for (const Design &design : designs)
    if (double bound = bounds_[design]; bound < run_.incumbent() && (valued || !run_.known(design)))
      all.push_back({predicted(design, bound), bound, design});
  llvm::sort(all);
  all.erase(
      std::unique(all.begin(), all.end(), [](const Candidate &a, const Candidate &b) { return a.design == b.design; }),
      all.end());
  return all;
}

bool IncumbentSearch::value(const std::vector<Candidate> &candidates, size_t max, double until) {
  double before = run_.incumbent();
  for (size_t next = 0; next < std::min(max, candidates.size()) && !run_.isExhausted();) {
    std::vector<const Candidate *> asked;
    std::vector<Design> lot;
    for (; lot.size() < std::min<uint64_t>(kLot, run_.left()) && next < std::min(max, candidates.size()); ++next)
      if (const Candidate &one = candidates[next];
          one.bound < run_.incumbent() && one.predicted <= until * run_.incumbent() && !run_.known(one.design)) {
        lot.push_back(one.design);
        asked.push_back(&one);
      }
    if (lot.empty())
      break;
    std::vector<double> values = run_.values(lot);
    for (size_t i = 0; i < lot.size(); ++i)
      learn(lot[i], asked[i]->bound, values[i]);
    if (run_.incumbent() < before)
      return true;
  }
  return false;
}

std::vector<uint32_t> IncumbentSearch::moves(const Design &design, size_t parameter) const {
  const DesignParameter &of = run_.parameters()[parameter];
  auto choices = static_cast<uint32_t>(of.labels.size());
  uint32_t at = design[parameter];
  std::vector<uint32_t> to;
  if (of.numbers.empty() || choices <= 6) {
    for (uint32_t other = 0; other < std::min(choices, 16u); ++other)
      if (other != at)
        to.push_back(other);
    return to;
  }
  for (uint32_t step = 1; step < choices; step *= 2) {
    if (step <= at)
      to.push_back(at - step);
    if (at + step < choices)
      to.push_back(at + step);
  }
  return to;
}

std::vector<Design> IncumbentSearch::neighbours(const Design &design, bool pairs) {
  std::vector<Design> all;
  for (size_t i : open_)
    for (uint32_t to : moves(design, i)) {
      Design near = design;
      near[i] = to;
      if (!pairs) {
        if (auto possible = run_.possibleNear(near, random_, i))
          all.push_back(std::move(*possible));
        continue;
      }
      for (size_t j : open_)
        if (j > i)
          for (uint32_t other : moves(design, j)) {
            Design pair = near;
            pair[j] = other;
            if (run_.problem().mayHold({pair, pair}))
              all.push_back(std::move(pair));
          }
    }
  while (all.size() > kMaxPairs) { // some of them, drawn evenly
    size_t drop = random_.below(all.size());
    std::swap(all[drop], all.back());
    all.pop_back();
  }
  return all;
}

/// To a design of which no neighbour promises more.
IncumbentSearch::Candidate IncumbentSearch::descend(Candidate at) {
  bool pairs = false;
  for (size_t steps = 0; steps < kMaxSteps && !run_.stopped(); ++steps) {
    std::vector<Candidate> near = candidates(neighbours(at.design, pairs), true);
    if (!near.empty() && near[0].predicted < at.predicted) {
      at = std::move(near[0]);
      pairs = false;
    } else if (pairs || rounds_ < 2) { // at first something has to be there soon
      break;
    } else {
      pairs = true;
    }
  }
  return at;
}

/// Some of them that may be.
std::vector<Design> IncumbentSearch::drawn(size_t count) {
  std::vector<Design> some;
  for (size_t i = 0; i < count; ++i)
    if (auto possible = run_.possibleNear(random_.design(run_.parameters()), random_))
      some.push_back(std::move(*possible));
  return some;
}

Design IncumbentSearch::perturbed(Design design) {
  for (unsigned changes = 2 + random_.below(3); changes > 0; --changes) {
    size_t i = open_[random_.below(open_.size())];
    design[i] = random_.below(run_.parameters()[i].labels.size());
  }
  return run_.possibleNear(design, random_).value_or(design);
}

/// The incumbent's neighbours in one parameter, then in two. False: none of them is better.
bool IncumbentSearch::improve() {
  // Values that cost little say more than what bounds promise.
  bool cheap = run_.problem().boundsPerValue() <= kCheap;
  for (bool pairs : {false, true}) {
    size_t max = pairs ? 16 : 12;
    if (value(candidates(neighbours(*run_.best(), pairs)), cheap ? 8 * max : max, pairs && !cheap ? kHope : 1.1))
      return true;
  }
  return false;
}

void IncumbentSearch::search(const std::optional<Design> &from) {
  double begun = work(), before = run_.incumbent();
  ++rounds_;
  if (run_.best() && run_.best() != improved_) {
    Design around = *run_.best();
    if (!improve())
      improved_ = std::move(around);
  } else {
    std::vector<Design> begin;
    if (from)
      begin = {*from};
    else if (run_.best() && rounds_ % 3 != 0)
      for (size_t i = 0; i < kDrawn / 2; ++i)
        begin.push_back(perturbed(*run_.best()));
    else
      begin = drawn(kDrawn);
    std::vector<Candidate> starts = candidates(begin, true);
    // Where that costs no more than to look around them, something is there at once.
    if (!run_.best() && run_.problem().boundsPerValue() * kLot < kDrawn)
      value(starts, kLot, INFINITY);
    if (!starts.empty()) {
      Candidate end = descend(std::move(starts[0]));
      std::vector<Candidate> ends = {end};
      llvm::append_range(ends, candidates(neighbours(end.design, false)));
      value(ends, run_.best() ? kLot : 1, run_.best() ? 1.1 : INFINITY);
    }
  }
  quiet_ = run_.incumbent() < before ? 0 : quiet_ + 1;
  // Where all is known a round costs nothing, and must end nevertheless.
  spent_ += std::max(work() - begun, double(kDrawn));
}

} // namespace accord
