#include "lib/exploration/solve/Checkpoint.h"
#include "lib/exploration/strategies/IncumbentSearch.h"
#include "lib/search/BestFirstQueue.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <optional>

namespace accord {
namespace {

/// Of each corner as many bytes for each choice as its parameter needs, the most significant first, so that the
/// order of bytes is that of parameters: millions of boxes are held at once.
struct PackedBox {
  double bound;
  bool isTight; ///< its dearer bound is in `bound`
  std::unique_ptr<uint8_t[]> corners;
};
struct Later {
  size_t corner; ///< bytes
  bool operator()(const PackedBox &a, const PackedBox &b) const {
    return a.bound != b.bound ? a.bound > b.bound : std::memcmp(a.corners.get(), b.corners.get(), corner) > 0;
  }
};

/// Open boxes by bound, then by low corner in the order of parameters.
class OpenNodes {
public:
  /// `corners`: 1 if all boxes are of one design, else 2.
  OpenNodes(const std::vector<DesignParameter> &parameters, unsigned corners) : corners_(corners) {
    for (const DesignParameter &parameter : parameters) {
      size_t choices = parameter.labels.size();
      widths_.push_back(choices <= 1 << 8 ? 1 : choices <= 1 << 16 ? 2 : 4);
    }
    later_.corner = std::accumulate(widths_.begin(), widths_.end(), size_t{0});
    queue_ = BestFirstQueue<PackedBox, Later>(later_);
  }

  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  /// Of the first; there is one.
  double bound() const { return queue_.first().bound; }
  DesignBox first() const { return boxOf(queue_.first()); }
  bool isFirstTight() const { return queue_.first().isTight; }
  void pop() { queue_.pop(); }

  void push(double bound, const DesignBox &box, bool isTight = false) {
    std::vector<uint8_t> bytes;
    for (unsigned corner = 0; corner < corners_; ++corner)
      for (auto [choice, width] : llvm::zip(corner ? box.high : box.low, widths_))
        for (unsigned byte = width; byte-- > 0;)
          bytes.push_back(choice >> (8 * byte));
    PackedBox packed{bound, isTight, std::make_unique_for_overwrite<uint8_t[]>(bytes.size())};
    llvm::copy(bytes, packed.corners.get());
    queue_.push(std::move(packed));
  }
  /// Drops what `keep` refuses, and all beyond the bound `until`.
  void filter(double until, llvm::function_ref<bool(double bound, const Design &low)> keep) {
    std::vector<PackedBox> kept;
    while (!empty() && bound() <= until) {
      PackedBox next = queue_.pop();
      if (keep(next.bound, boxOf(next).low))
        kept.push_back(std::move(next));
    }
    queue_ = BestFirstQueue<PackedBox, Later>(later_, std::move(kept));
  }

private:
  DesignBox boxOf(const PackedBox &packed) const {
    DesignBox box;
    const uint8_t *from = packed.corners.get();
    for (unsigned corner = 0; corner < corners_; ++corner)
      for (unsigned width : widths_) {
        uint32_t &choice = (corner ? box.high : box.low).emplace_back();
        for (; width > 0; --width)
          choice = choice << 8 | *from++;
      }
    if (corners_ == 1)
      box.high = box.low;
    return box;
  }

  std::vector<uint8_t> widths_; ///< bytes, by parameter
  unsigned corners_;
  Later later_{};
  BestFirstQueue<PackedBox, Later> queue_{later_};
};

// Rounds are of fixed sizes, so that the same boxes are looked at whatever the threads.
constexpr size_t kSplits = 32, kValues = 16;
constexpr size_t kPromising = 256; ///< designs of which those are valued that promise most
constexpr unsigned kDives = 64;    ///< at most so many in search of any design
/// A parameter is tried on so many boxes before what it gained says which are tried, and on each of every so many.
constexpr uint64_t kReliable = 8, kTryAll = 16;
constexpr size_t kTried = 3;          ///< parameters of a box then
constexpr unsigned kRoundsOfDive = 4; ///< looking ahead begins at the first box every so many times

struct OpenNode {
  double bound;
  DesignBox box;
  bool isTight = false;
};
struct NodeHalves {
  OpenNode low, high;
};

class ExactSearch {
public:
  explicit ExactSearch(MiningRun &run)
      : run(run), incumbents(run), openNodes(run.parameters(), 2), gains(run.parameters().size()) {
    for (unsigned level = 0; level <= run.problem().numBoundLevels(); ++level)
      designs.emplace_back(run.parameters(), 1);
    run.useEvaluations();
  }

  std::string search() {
    if (!run.empty()) {
      run.values(validDesigns(run.parameters(), run.options().known));
      if (const MiningResult *after = run.options().after)
        for (const auto &[bound, design] : after->unsettled)
          open({bound, {design, design}});
      else
        open({run.bound(), wholeOf(run.parameters())});
    }
    if (looksAhead() && !openNodes.empty() && incumbents.isDue())
      incumbents.search();
    bool limited = false;
    for (unsigned dives = 0; dives < kDives && !run.best() && !openNodes.empty() && !limited; ++dives)
      if (std::optional<Design> reached = dive(limited))
        run.value(*reached);
    std::string ended = rounds();
    run.leaveUnsettled(run.isTruncated() ? 0 : lowerBound());
    std::string proof = fmt::format("branch and bound: {}; {} open nodes", ended, numOpenNodes());
    // Of designs that are not evaluated; the gap is also what schedules of evaluated ones leave open.
    if (double open = 1 - lowerBound() / run.incumbent(); run.best() && open > 0)
      proof += fmt::format(", at most {:.3g} % below the best", 100 * open);
    return proof;
  }

private:
  /// Nothing in it would be the result: worse, or equal and later in the order of parameters.
  bool dominated(double bound, const Design &low) const {
    return bound > run.incumbent() || bound == INFINITY ||
           (bound == run.incumbent() && run.best() && low >= *run.best());
  }

  void open(const OpenNode &box) {
    if (!dominated(box.bound, box.box.low))
      (box.box.one() ? designs.front() : openNodes).push(box.bound, box.box, box.isTight);
  }

  static OpenNode take(OpenNodes &from) {
    OpenNode first{from.bound(), from.first(), from.isFirstTight()};
    from.pop();
    return first;
  }

  /// A half that cannot hold the result is worth as much as one without designs.
  double gain(double bound, double half) const {
    double max = std::isinf(run.incumbent()) ? half : std::min(half, run.incumbent());
    return max - bound;
  }

  /// Whether values are cheap enough beside bounds to look for a better incumbent all the while.
  bool looksAhead() const { return run.problem().hasCheapValues(); }

  /// Of the ways to halve a box those that are tried: all, or where enough is known of what halving gains by parameter
  /// those that gained most so far (reliability branching: Achterberg, Koch and Martin, Operations Research Letters 33,
  /// 2005).
  std::vector<BoxHalves> triedHalves(const DesignBox &box) {
    std::vector<BoxHalves> all = halvesOf(box);
    if (std::vector<size_t> first = run.problem().dividedFirst(box); !first.empty()) {
      llvm::erase_if(all, [&](const BoxHalves &one) { return !llvm::is_contained(first, parameterOf(one)); });
      return all;
    }
    if (!looksAhead() || all.size() <= kTried || ++numSplits % kTryAll == 0)
      return all;
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < all.size(); ++i) {
      const MeanGain &of = gains[parameterOf(all[i])];
      if (of.count < kReliable)
        return all;
      order.emplace_back(-of.sum / of.count, i);
    }
    llvm::sort(order);
    std::vector<BoxHalves> tried;
    for (size_t i = 0; i < kTried; ++i)
      tried.push_back(std::move(all[order[i].second]));
    return tried;
  }
  static size_t parameterOf(const BoxHalves &halves) {
    return std::mismatch(halves.low.high.begin(), halves.low.high.end(), halves.high.high.begin()).first -
           halves.low.high.begin();
  }

  /// Each at the parameter whose halves' bounds are most above its own. Nothing: not enough bounds
  /// left for the first of them; `split` may hold fewer than asked for.
  std::vector<NodeHalves> split(const std::vector<OpenNode> &open, size_t &count) {
    std::vector<std::vector<BoxHalves>> trials; // by box
    std::vector<DesignBox> boxes;
    for (count = 0; count < open.size(); ++count) {
      std::vector<BoxHalves> halves = triedHalves(open[count].box);
      if (boxes.size() + 2 * halves.size() > run.boundsLeft())
        break;
      for (const BoxHalves &one : halves)
        boxes.push_back(one.low), boxes.push_back(one.high);
      trials.push_back(std::move(halves));
    }
    std::vector<double> bounds = run.bounds(boxes);
    std::vector<NodeHalves> halves;
    const double *next = bounds.data();
    for (size_t b = 0; b < count; ++b) {
      double bound = open[b].bound;
      NodeHalves &best = halves.emplace_back();
      std::optional<std::tuple<double, double, uint32_t>> maxGains; // the first is taken as it is
      for (BoxHalves &trial : trials[b]) {
        double low = std::max(bound, *next++), high = std::max(bound, *next++);
        double gainLow = gain(bound, low), gainHigh = gain(bound, high);
        std::tuple both{gainLow + gainHigh, std::min(gainLow, gainHigh), trial.width};
        MeanGain &mean = gains[parameterOf(trial)];
        mean.sum += bound > 0 ? std::min(1.0, (gainLow + gainHigh) / bound) : 0, ++mean.count;
        if (!maxGains || both > *maxGains) {
          maxGains = both;
          best = {{low, std::move(trial.low)}, {high, std::move(trial.high)}};
        }
      }
    }
    return halves;
  }

  /// From the first box always the better half, to a design, which is open then. Nothing: a limit, or where it ends no
  /// design can be; `limited` says which.
  std::optional<Design> dive(bool &limited) {
    limited = false;
    OpenNode at = take(openNodes);
    while (!at.box.one()) {
      size_t count;
      std::vector<NodeHalves> halves = split({at}, count);
      if (!count || run.isExhausted()) {
        open(at);
        limited = true;
        return std::nullopt;
      }
      NodeHalves &both = halves[0];
      bool low = both.low.bound <= both.high.bound;
      at = std::move(low ? both.low : both.high);
      open(low ? both.high : both.low);
      if (at.bound == INFINITY)
        return std::nullopt;
    }
    open(at);
    return at.box.low;
  }

  /// A round in search of a better incumbent, now and then from where the first box leads.
  void lookAhead() {
    std::optional<Design> from;
    bool limited = false;
    if (++numLooks % kRoundsOfDive == 0 && !openNodes.empty())
      from = dive(limited);
    if (!limited && incumbents.isDue())
      incumbents.search(from);
  }

  /// Of the designs of which the next one is: by bound, then by place in the order of parameters.
  size_t nextLevel() const {
    size_t next = 0;
    for (size_t level = 1; level < designs.size(); ++level)
      if (!designs[level].empty() && (designs[next].empty() || before(designs[level], designs[next])))
        next = level;
    return next;
  }
  static bool before(const OpenNodes &a, const OpenNodes &b) {
    return a.bound() < b.bound() || (a.bound() == b.bound() && a.first().low <= b.first().low);
  }

  double lowerBound() const {
    double lowerBound = openNodes.empty() ? INFINITY : openNodes.bound();
    for (const OpenNodes &level : designs)
      lowerBound = std::min(lowerBound, level.empty() ? INFINITY : level.bound());
    return lowerBound;
  }
  size_t numOpenNodes() const {
    size_t count = openNodes.size();
    for (const OpenNodes &level : designs)
      count += level.size();
    return count;
  }

  /// First ones that are dominated, or designs that were valued in search of a better incumbent.
  void dropFirst() {
    while (!openNodes.empty() && dominated(openNodes.bound(), openNodes.first().low))
      openNodes.pop();
    for (OpenNodes &level : designs)
      while (!level.empty() && (dominated(level.bound(), level.first().low) || run.known(level.first().low)))
        level.pop();
  }

  /// How it ended.
  std::string rounds() {
    for (size_t purged = 1 << 12;;) {
      dropFirst();
      double bound = std::min(lowerBound(), run.evaluatedBound());
      run.prove(bound);
      size_t open = numOpenNodes();
      run.result().isOptimal = open == 0 && run.best() && !run.isTruncated();
      if (open == 0 && run.isTruncated() && run.stopped())
        return "stopped";
      if (open == 0)
        return run.best() ? "nothing below the best" : "no design can be";
      double gap = run.options().gap;
      if (gap > 0 && run.best() && bound >= run.incumbent() * (1 - gap))
        return "within the gap asked for";
      if (run.stopped())
        return "stopped";
      if (open > run.options().openNodes)
        return "node limit";
      if (open > 2 * purged) {
        auto keep = [this](double of, const Design &low) { return !dominated(of, low); };
        openNodes.filter(run.incumbent(), keep);
        for (OpenNodes &level : designs)
          level.filter(run.incumbent(), keep);
        purged = std::max<size_t>(1 << 12, numOpenNodes());
      }
      if (looksAhead() && incumbents.isDue()) {
        lookAhead();
        continue;
      }
      size_t level = nextLevel();
      const OpenNodes &next = designs[level];
      if (!openNodes.empty() && (next.empty() || before(openNodes, next))) {
        if (!splitRound(next.empty() ? INFINITY : next.bound()))
          return "the limit of bounds";
      } else if (level + 1 < designs.size()) {
        if (!tightenRound(level))
          return "the limit of bounds";
      } else if (!valueRound()) {
        return "the limit of evaluations";
      }
    }
  }

  /// Boxes that have it yet to come get their dearer bound, and wait for their turn again. True: there were some.
  bool tightenBoxes(std::vector<OpenNode> &round) {
    std::vector<DesignBox> boxes;
    for (const OpenNode &one : round)
      if (run.problem().tightensBoxes() && !one.isTight)
        boxes.push_back(one.box);
    if (boxes.empty() || boxes.size() > run.boundsLeft())
      return false;
    std::vector<double> bounds = run.tightenBoxes(boxes);
    const double *next = bounds.data();
    for (OpenNode &one : round) {
      if (!one.isTight)
        one.bound = std::max(one.bound, *next++), one.isTight = true;
      open(one);
    }
    return true;
  }

  bool splitRound(double until) {
    std::vector<OpenNode> round;
    while (round.size() < kSplits && !openNodes.empty() && openNodes.bound() <= until &&
           !dominated(openNodes.bound(), openNodes.first().low))
      round.push_back(take(openNodes));
    if (tightenBoxes(round))
      return true;
    size_t count;
    for (NodeHalves &halves : split(round, count)) {
      open(halves.low);
      open(halves.high);
    }
    for (size_t i = count; i < round.size(); ++i)
      open(round[i]);
    return count > 0;
  }

  /// Designs near the least bound, not only of it, that threads have something to do.
  std::vector<OpenNode> round(OpenNodes &from, uint64_t max) {
    std::vector<OpenNode> round;
    double first = from.bound(), until = first;
    if (run.best())
      until += (run.incumbent() - first) / 8;
    else
      until = INFINITY;
    while (round.size() < max && !from.empty() && from.bound() <= until && !dominated(from.bound(), from.first().low))
      round.push_back(take(from));
    return round;
  }

  bool tightenRound(size_t level) {
    std::vector<OpenNode> open = round(designs[level], std::min<uint64_t>(kValues, run.boundsLeft()));
    std::vector<Design> all;
    for (const OpenNode &one : open)
      all.push_back(one.box.low);
    std::vector<double> bounds = run.tightenBound(all, static_cast<unsigned>(level) + 1);
    for (size_t i = 0; i < open.size(); ++i)
      if (double bound = std::max(open[i].bound, bounds[i]); !dominated(bound, open[i].box.low))
        designs[level + 1].push(bound, open[i].box);
    return !open.empty();
  }

  /// Of many with nearly the same bound those first that promise most.
  bool valueRound() {
    uint64_t size = std::min<uint64_t>(kValues, run.left());
    std::vector<OpenNode> open = round(designs.back(), looksAhead() && size > 0 ? kPromising : size);
    if (open.size() > size) {
      std::vector<std::pair<double, size_t>> order;
      for (size_t i = 0; i < open.size(); ++i)
        order.emplace_back(incumbents.predicted(open[i].box.low, open[i].bound), i);
      llvm::sort(order);
      std::vector<OpenNode> first;
      for (size_t i = 0; i < open.size(); ++i)
        if (OpenNode &one = open[order[i].second]; i < size)
          first.push_back(std::move(one));
        else
          designs.back().push(one.bound, one.box);
      open = std::move(first);
    }
    std::vector<Design> all;
    for (const OpenNode &one : open)
      all.push_back(one.box.low);
    if (all.empty())
      return false;
    std::vector<double> values = run.values(all);
    for (size_t i = 0; i < all.size() && looksAhead(); ++i)
      incumbents.learn(all[i], open[i].bound, values[i]);
    return true;
  }

  MiningRun &run;
  IncumbentSearch incumbents;
  OpenNodes openNodes;
  std::vector<OpenNodes> designs; ///< by how often they were bounded again
  /// What halving gained, as a share of the box's bound.
  struct MeanGain {
    double sum = 0;
    uint64_t count = 0;
  };
  std::vector<MeanGain> gains; ///< by parameter
  uint64_t numSplits = 0;
  unsigned numLooks = 0;
};

} // namespace

MiningResult mineExactly(MiningProblem &problem, const MiningOptions &options) {
  MiningRun run(problem, options, "exact");
  std::string digest;
  if (!options.resume.empty()) {
    KnownDesigns earlier;
    std::optional<Design> best;
    if (auto error = readCheckpoint(options.resume, problem, earlier, best))
      return run.refuse(*error);
    // Bounds may be those of a problem whose values are others.
    if (best && evaluationOf(problem, *best, INFINITY).value != earlier[*best].value)
      return run.refuse(fmt::format("{}: its best design has a different value now", options.resume));
    run.resume(std::move(earlier));
  }
  size_t written = 0;
  if (!options.checkpoint.empty()) {
    digest = digestOf(problem);
    run.saved = [&](bool last) {
      KnownDesigns &known = run.knownDesigns();
      if (!last && known.size() - written < std::max<uint64_t>(options.checkpointEvery, 1))
        return;
      written = known.size();
      KnownDesigns all = run.earlier();
      all.insert(known.begin(), known.end());
      if (auto error = writeWhole(options.checkpoint, checkpointText(digest, run.best(), run.incumbent(), all)))
        run.result().error = *error;
    };
  }
  ExactSearch search(run);
  std::string proof = search.search();
  return run.finish(std::move(proof));
}

} // namespace accord
