#include "lib/placement/solve/Place.h"
#include "lib/placement/solve/PlaceConfigurations.h"
#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace accord {
using namespace placing;

bool meets(const PlacementProblem &problem, const PlacementWorth &worth) {
  const PlacementProblem::Limits &limits = problem.limits;
  return (limits.step <= 0 || worth.step <= limits.step) &&
         (limits.watts <= 0 ||
          worth.joules <= limits.watts * static_cast<double>(worth.step) * 1e-12) &&
         (limits.devices <= 0 || worth.devices <= limits.devices) &&
         (limits.joules <= 0 || worth.joules <= limits.joules) &&
         (limits.price <= 0 || worth.price <= limits.price);
}

namespace {

constexpr size_t MostParts = 1'024;

bool later(const Configuration &a, const Configuration &b) {
  return std::tie(a.bound, a.microbatches, a.schedule, a.chunks, a.fewest, a.forms) >
         std::tie(b.bound, b.microbatches, b.schedule, b.chunks, b.fewest, b.forms);
}

class Placer {
public:
  Placer(const PlacementProblem &problem, const PlaceOptions &options, double mostTdpTime)
      : options_(options), space_(problem, MostSets, mostTdpTime), keeps_(space_), all_(space_) {
    answer_.gap = options.gap;
    answer_.value = options.below;
    answer_.stop = options.stop;
    answer_.budget = int64_t{5'000} << std::min(options.effort, 40u);
  }

  PlacementResult run() {
    if (!all_.complete)
      answer_.leave(0);
    answer_.leave(all_.left);
    count_ = all_.list.size();
    begin();
    guess();
    bound();
    table();
    search();
    PlacementResult result;
    result.plan = answer_.plan;
    result.worth = answer_.worth;
    result.value = answer_.plan ? answer_.value : 0;
    result.bound = std::min(answer_.open, answer_.value);
    result.examined = answer_.examined;
    result.pruned = answer_.pruned;
    result.proof = proof(result);
    for (auto &[configuration, proved] : answer_.proved)
      if (!(proved.simple >= result.bound) && proved.bound >= result.bound)
        result.paths.push_back(std::move(proved.paths));
    return result;
  }

private:
  void begin() {
    const PlacementProblem &problem = space_.problem;
    if (!options_.known || !faults(problem, *options_.known).empty())
      return;
    PlacementWorth worth = judge(problem, *options_.known);
    if (!worth.fits || !meets(problem, worth) || !(worth.value < answer_.value) ||
        (space_.mostTdpTime > 0 && tdpTimeOf(problem, *options_.known, worth) > space_.mostTdpTime))
      return;
    answer_.value = worth.value;
    answer_.plan = *options_.known;
    answer_.worth = std::move(worth);
  }

  /// First plans of configurations that look good: by their bound and the closed form of what even
  /// stages wait, which bounds do not know of where devices differ or chunks are interleaved.
  void guess() {
    constexpr size_t MostLooked = 2'000, MostTried = 48;
    std::vector<Configuration> looked = all_.list, tried;
    std::sort(looked.begin(), looked.end(), [](auto &a, auto &b) { return later(b, a); });
    if (looked.size() > MostLooked)
      looked.resize(MostLooked);
    for (const Configuration &one : looked) {
      std::vector<int64_t> groups;
      for (int64_t p = one.fewest; p < one.most; p *= 2)
        groups.push_back(p);
      groups.push_back(one.most); // all devices
      for (int64_t p : groups) {
        Configuration exact = one;
        exact.fewest = exact.most = p;
        auto m = static_cast<double>(one.microbatches);
        double waits = static_cast<double>(p - 1) / static_cast<double>(one.chunks) / m;
        bool known = one.forms.size() == 1 && one.chunks == 1 && space_.chain;
        exact.bound = all_.boundOf(exact) * (known ? 1 : 1 + waits);
        if (!std::isinf(exact.bound))
          tried.push_back(std::move(exact));
      }
    }
    std::sort(tried.begin(), tried.end(), [](auto &a, auto &b) { return later(b, a); });
    int64_t enough = answer_.budget - answer_.budget / 5;
    for (size_t i = 0; i < std::min(tried.size(), MostTried) && !answer_.over(); ++i)
      if (tried[i].bound < answer_.value && answer_.budget > enough)
        Shape(space_, keeps_, tried[i], answer_).seed(false);
  }

  /// Bounds and first plans, by increasing bound.
  void bound() {
    std::vector<Configuration> heap = std::move(all_.list);
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Configuration one = std::move(heap.back());
      heap.pop_back();
      if (answer_.useless(one.bound)) {
        answer_.pruned += heap.size() + 1;
        return;
      }
      if (answer_.over()) {
        answer_.leave(one.bound);
        for (const Configuration &other : open_)
          answer_.leave(other.bound);
        open_.clear();
        return;
      }
      auto again = [&](Configuration &&next) {
        if (answer_.useless(next.bound)) {
          ++answer_.pruned;
          return;
        }
        heap.push_back(std::move(next));
        std::push_heap(heap.begin(), heap.end(), later);
      };
      if (one.fewest < one.most) {
        Configuration low = one, high = one;
        low.most = one.fewest + (one.most - one.fewest) / 2;
        high.fewest = low.most + 1;
        for (Configuration *half : {&low, &high}) {
          half->bound = std::max(one.bound, all_.boundOf(*half));
          ++count_;
          again(std::move(*half));
        }
        --count_;
        continue;
      }
      if (one.step == 0) {
        Shape shape(space_, keeps_, one, answer_);
        one.bound = std::max(one.bound, shape.capacityBound());
        if (one.bound < answer_.goal())
          one.bound = std::max(one.bound, shape.evenBound());
        one.step = 1;
        again(std::move(one));
        continue;
      }
      if (one.step == 1) {
        Shape shape(space_, keeps_, one, answer_);
        if (one.chunks > 1)
          one.bound = std::max(one.bound, shape.gameBound(1));
        if (one.bound < answer_.goal())
          shape.seed();
        one.step = 2;
        again(std::move(one));
        continue;
      }
      open_.push_back(std::move(one));
    }
  }

  /// Tables, once the easy plans of all configurations are known: the better the plan at hand, the
  /// smaller they are.
  void table() {
    std::vector<Configuration> open = std::move(open_);
    open_.clear();
    for (Configuration &one : open) {
      if (answer_.useless(one.bound)) {
        ++answer_.pruned;
        continue;
      }
      if (answer_.over()) {
        answer_.leave(one.bound);
        continue;
      }
      Shape shape(space_, keeps_, one, answer_);
      one.bound = std::max(one.bound, one.chunks > 1 ? shape.gameBound(MostParts) : shape.table());
      report("bounds", one.bound);
      if (!answer_.useless(one.bound))
        open_.push_back(std::move(one));
    }
    std::sort(open_.begin(), open_.end(),
              [](const Configuration &a, const Configuration &b) { return later(b, a); });
  }

  /// What bounds leave open, to the end or to a limit; what is left then once more.
  void search() {
    for (int round = 0; round < 2; ++round) {
      std::vector<Configuration> open = std::move(open_);
      open_.clear();
      for (size_t i = 0; i < open.size(); ++i) {
        const Configuration &one = open[i];
        if (answer_.useless(one.bound)) {
          ++answer_.pruned;
          continue;
        }
        if (answer_.over()) {
          answer_.leave(one.bound);
          continue;
        }
        Shape shape(space_, keeps_, one, answer_);
        double bound = std::max(one.bound, shape.table());
        report("search", bound);
        if (answer_.useless(bound))
          continue;
        double before = answer_.open;
        int64_t work =
            round == 0 ? std::min<int64_t>(20'000, answer_.budget / 4) : answer_.budget / 2;
        if (shape.search(work, bound) || round == 1)
          continue;
        answer_.open = before; // it is looked at again
        open_.push_back(one);
        open_.back().bound = bound;
      }
    }
  }

  void report(const char *phase, double bound) {
    if (!options_.progress)
      return;
    double known = std::min({answer_.open, answer_.value, bound});
    if (answer_.value == reported_.incumbent && known == reported_.bound)
      return;
    reported_ = {phase, answer_.value, known};
    PlaceProgress progress = reported_;
    if (!answer_.plan)
      progress.incumbent = 0;
    options_.progress(progress);
  }

  std::string proof(const PlacementResult &result) const {
    std::string how = fmt::format(
        "lower bounds of {} configurations (micro-batches, schedule, chunks, groups, forms), "
        "dynamic "
        "program over {} of the layers, depth-first search of what they left open",
        count_,
        space_.linear ? std::string("cuts of the chain")
        : space_.complete
            ? fmt::format("{} down-sets", space_.last() + 1)
            : fmt::format("prefixes of one order, as there are more than {} down-sets", MostSets));
    if (!result.plan)
      return (std::isinf(result.bound) ? "no plan fits: " : "no plan was found: ") + how;
    if (result.bound >= result.value)
      return "optimal: " + how;
    if (options_.stop && options_.stop->load())
      return "stopped: " + how;
    return fmt::format("within {:.4g} %: {}", 100 * result.gap(), how);
  }

  const PlaceOptions &options_;
  Space space_;
  Keeps keeps_;
  Configurations all_;
  Answer answer_;
  std::vector<Configuration> open_;
  size_t count_ = 0;
  PlaceProgress reported_;
};

} // namespace

PlacementResult placing::least(const PlacementProblem &problem, const PlaceOptions &options,
                               double mostTdpTime) {
  return Placer(problem, options, mostTdpTime).run();
}

} // namespace accord
