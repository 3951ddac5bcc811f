#include "lib/planning/analysis/CriticalPath.h"
#include <algorithm>
#include <unordered_map>

namespace accord {

namespace {

using Slices = Dependences::Slices;
constexpr int64_t kNever = MaxPlusMatrix::kNever;
/// A body that reads more values than this has the rest ignored: the result stays a lower bound,
/// and matrices small.
constexpr unsigned kMaxPorts = 192;

int64_t plus(int64_t a, int64_t b) { return a == kNever || b == kNever ? kNever : a + b; }

/// Completion times of one iteration as vectors over `width` ports.
struct Iteration {
  unsigned width = 1;
  std::vector<int64_t> finish; ///< by position in the region, `width` each; of a repeat: its end
  std::unordered_map<ValueId, std::vector<int64_t>> outputs; ///< of repeats
  std::vector<int64_t> done;
};

class Analysis {
public:
  Analysis(const WorkGraph &graph, const Dependences &dependences, std::vector<Picoseconds> durations)
      : graph_(graph), deps_(dependences), durations_(std::move(durations)), column_(graph.values.size(), -1),
        position_(graph.operations.size()), tails_(graph.values.size(), kNever) {}

  void run() {
    result_.length.resize(graph_.regions.size());
    result_.repeat.resize(graph_.operations.size());
    result_.timing.resize(graph_.operations.size());
    result_.summaries.resize(graph_.operations.size());
    chains_.resize(graph_.regions.size());
    for (RegionId region : bodiesFirst()) {
      time(region);
      if (graph_.regions[region].owner != kNone)
        summarize(region);
    }
    join();
  }

  /// Times the region of a changed operation again, then those around it as far as they notice.
  void change(OperationId id, Picoseconds duration) {
    durations_[id] = duration;
    for (RegionId region = graph_.operations[id].region; region != kNone; region = graph_.regions[region].parent) {
      OperationId owner = graph_.regions[region].owner;
      if (owner == kNone) {
        time(region);
        break;
      }
      std::vector<OperationId> chain = std::move(chains_[region]);
      RepeatSummary summary = std::move(result_.summaries[owner]);
      time(region);
      summarize(region);
      if (chain == chains_[region] && summary == result_.summaries[owner])
        break;
    }
    join();
  }

  Picoseconds duration(OperationId id) const { return durations_[id]; }
  CriticalPath &result() { return result_; }

private:
  void join() {
    result_.chain.clear();
    for (RegionId top : {kMicrobatchRegion, kUpdateRegion})
      result_.chain.insert(result_.chain.end(), chains_[top].begin(), chains_[top].end());
    result_.step = {graph_.microbatches * result_.length[kMicrobatchRegion].value +
                    result_.length[kUpdateRegion].value};
  }

  std::vector<RegionId> bodiesFirst() const {
    std::vector<std::pair<unsigned, RegionId>> byDepth;
    for (RegionId id = 0; id < graph_.regions.size(); ++id) {
      unsigned depth = 0;
      for (RegionId at = graph_.regions[id].parent; at != kNone; at = graph_.regions[at].parent)
        ++depth;
      byDepth.push_back({kMaxDepth - depth, id});
    }
    std::sort(byDepth.begin(), byDepth.end());
    std::vector<RegionId> order;
    for (auto [depth, id] : byDepth)
      order.push_back(id);
    return order;
  }

  bool madeIn(RegionId region, ValueId source) const {
    OperationId maker = deps_.producer[source];
    return maker != kNone && graph_.operations[maker].region == region;
  }

  /// into = max(into, paths to `source`); a constant (a weight, an input) is there from the start.
  void arrive(RegionId region, const Iteration &it, ValueId source, std::vector<int64_t> &into) const {
    if (int column = column_[source]; column >= 0) {
      into[column] = std::max<int64_t>(into[column], 0);
    } else if (madeIn(region, source)) {
      auto output = it.outputs.find(source);
      const int64_t *from = output != it.outputs.end()
                                ? output->second.data()
                                : &it.finish[size_t{position_[deps_.producer[source]]} * it.width];
      for (unsigned i = 0; i < it.width; ++i)
        into[i] = std::max(into[i], from[i]);
    }
  }

  /// The last port is the start of time: nothing begins before it.
  Iteration evaluate(RegionId region, unsigned width) {
    const Region &r = graph_.regions[region];
    Iteration it;
    it.width = width;
    it.finish.assign(r.operations.size() * width, kNever);
    it.done.assign(width, kNever);
    it.done[width - 1] = 0;
    std::vector<int64_t> start(width);
    for (unsigned p = 0; p < r.operations.size(); ++p) {
      OperationId id = r.operations[p];
      position_[id] = p;
      int64_t *finish = &it.finish[size_t{p} * width];
      if (graph_.operations[id].body != kNone) {
        throughRepeat(region, it, id, finish);
      } else {
        std::fill(start.begin(), start.end(), kNever);
        start[width - 1] = 0;
        for (ValueId source : deps_.uses[id])
          arrive(region, it, source, start);
        for (unsigned i = 0; i < width; ++i)
          finish[i] = plus(start[i], durations_[id].value);
      }
      for (unsigned i = 0; i < width; ++i)
        it.done[i] = std::max(it.done[i], finish[i]);
    }
    return it;
  }

  void throughRepeat(RegionId region, Iteration &it, OperationId id, int64_t *finish) {
    const RepeatSummary &s = result_.summaries[id];
    std::vector<std::vector<int64_t>> out(s.outputs.size(), std::vector<int64_t>(it.width, kNever));
    std::vector<int64_t> in(it.width);
    for (unsigned q = 0; q < s.ports.size(); ++q) {
      std::fill(in.begin(), in.end(), kNever);
      in[it.width - 1] = 0;
      if (s.ports[q] != kNone)
        arrive(region, it, s.ports[q], in);
      for (unsigned i = 0; i < it.width; ++i) {
        finish[i] = std::max(finish[i], plus(s.done[q], in[i]));
        for (size_t o = 0; o < out.size(); ++o)
          out[o][i] = std::max(out[o][i], plus(s.outputs[o].second[q], in[i]));
      }
    }
    for (ValueId result : graph_.operations[id].results)
      it.outputs[result].assign(finish, finish + it.width);
    for (size_t o = 0; o < out.size(); ++o)
      it.outputs[s.outputs[o].first] = std::move(out[o]);
  }

  /// Earliest and latest starts of one iteration whose inputs are all there at time 0.
  void time(RegionId region) {
    const Region &r = graph_.regions[region];
    Iteration it = evaluate(region, 1);
    int64_t length = it.done[0];
    result_.length[region] = {length};
    auto scalar = [&](ValueId source) {
      std::vector<int64_t> at(1, 0);
      arrive(region, it, source, at);
      return at[0];
    };
    std::vector<int64_t> tail(r.operations.size(), 0);
    std::vector<ValueId> touched;
    auto push = [&](ValueId source, int64_t t) {
      if (t == kNever || !madeIn(region, source))
        return;
      unsigned p = position_[deps_.producer[source]];
      tail[p] = std::max(tail[p], t);
      if (tails_[source] == kNever)
        touched.push_back(source);
      tails_[source] = std::max(tails_[source], t);
    };
    for (size_t p = r.operations.size(); p-- > 0;) {
      OperationId id = r.operations[p];
      Timing &timing = result_.timing[id];
      if (graph_.operations[id].body == kNone) {
        int64_t whole = durations_[id].value + tail[p];
        timing.earliest = {it.finish[p] - durations_[id].value};
        timing.latest = {length - whole};
        for (ValueId source : deps_.uses[id])
          push(source, whole);
        continue;
      }
      const RepeatSummary &s = result_.summaries[id];
      int64_t earliest = 0, slack = length;
      for (unsigned q = 0; q < s.ports.size(); ++q) {
        int64_t through = s.done[q];
        for (const auto &[value, row] : s.outputs)
          through = std::max(through, plus(row[q], std::max<int64_t>(tails_[value], 0)));
        for (ValueId value : graph_.operations[id].results)
          if (std::none_of(s.outputs.begin(), s.outputs.end(), [&](auto &o) { return o.first == value; }))
            through = std::max(through, plus(s.done[q], std::max<int64_t>(tails_[value], 0)));
        int64_t arrival = s.ports[q] == kNone ? 0 : scalar(s.ports[q]);
        earliest = std::max(earliest, arrival);
        // What nothing waits for may come as late as the end.
        slack = std::min(slack, length - arrival - std::max<int64_t>(through, 0));
        if (through == kNever)
          continue;
        if (s.ports[q] != kNone)
          push(s.ports[q], through);
      }
      timing.earliest = {earliest};
      timing.latest = {earliest + slack};
    }
    for (ValueId source : touched)
      tails_[source] = kNever;
    trace(region, it, scalar);
  }

  /// Walks back from the operation that ends last, always to a value that arrives just in time.
  template <typename Scalar> void trace(RegionId region, const Iteration &it, const Scalar &scalar) {
    const Region &r = graph_.regions[region];
    int64_t length = it.done[0];
    OperationId at = kNone;
    for (size_t p = 0; p < r.operations.size() && at == kNone && length > 0; ++p)
      if (it.finish[p] == length)
        at = r.operations[p];
    std::vector<OperationId> backward;
    ValueId wanted = kNone; // the output by which a repeat is entered from behind
    while (at != kNone) {
      ValueId next = kNone;
      if (graph_.operations[at].body == kNone) {
        int64_t start = it.finish[position_[at]] - durations_[at].value;
        for (ValueId source : deps_.uses[at])
          if (next == kNone && start > 0 && madeIn(region, source) && scalar(source) == start)
            next = source;
      } else {
        const RepeatSummary &s = result_.summaries[at];
        const std::vector<int64_t> *row = &s.done;
        for (const auto &[value, path] : s.outputs)
          if (value == wanted)
            row = &path;
        int64_t end = row == &s.done ? it.finish[position_[at]] : scalar(wanted);
        for (unsigned q = 0; q < s.ports.size() && next == kNone; ++q)
          if (s.ports[q] != kNone && madeIn(region, s.ports[q]) && scalar(s.ports[q]) > 0 &&
              plus((*row)[q], scalar(s.ports[q])) == end)
            next = s.ports[q];
        const auto &inner = chains_[graph_.operations[at].body];
        backward.insert(backward.end(), inner.rbegin(), inner.rend());
      }
      backward.push_back(at);
      wanted = next;
      at = next == kNone ? kNone : deps_.producer[next];
    }
    chains_[region].assign(backward.rbegin(), backward.rend());
  }

  /// What a body reads: carried arguments, the end so far, values from outside, tensors that are taken apart, then
  /// stacks by which iteration needs the slice made last, the start of time.
  struct Ports {
    std::vector<ValueId> sources;
    std::vector<ValueId> bound; ///< values whose column has to be cleared
    unsigned end = 0, newest = 0, oldest = 0, start = 0;

    unsigned width() const { return sources.size(); }
  };

  void bind(Ports &ports, ValueId inside, ValueId outside) {
    if (ports.width() >= kMaxPorts || column_[inside] >= 0)
      return;
    column_[inside] = ports.width();
    ports.bound.push_back(inside);
    ports.sources.push_back(outside);
  }

  Ports portsOf(RegionId region) {
    const Region &r = graph_.regions[region];
    Ports ports;
    for (const Region::Carried &c : r.carried)
      bind(ports, c.argument, deps_.source[c.initial]);
    ports.end = ports.width();
    ports.sources.push_back(kNone);
    auto outside = [&](ValueId source) {
      bool constant = deps_.producer[source] == kNone && !deps_.changing[source];
      if (!constant && graph_.values[source].region != region)
        bind(ports, source, source);
    };
    for (OperationId id : r.operations)
      for (ValueId source : deps_.uses[id])
        outside(source);
    for (const Region::Carried &c : r.carried)
      outside(deps_.source[c.yielded]);
    for (const Region::Slice &slice : r.stashed)
      outside(deps_.source[slice.inside]);
    auto unstack = [&](Slices kind) {
      for (const Region::Slice &s : r.unstashed)
        if (deps_.order(graph_, r, s) == kind)
          bind(ports, s.inside, deps_.source[s.stacked]);
      return ports.width();
    };
    ports.newest = unstack(Slices::Whole);
    ports.oldest = unstack(Slices::Newest);
    ports.start = unstack(Slices::Oldest);
    ports.sources.push_back(kNone);
    return ports;
  }

  void summarize(RegionId region) {
    const Region &r = graph_.regions[region];
    Ports ports = portsOf(region);
    unsigned width = ports.width(), end = ports.end;
    Iteration it = evaluate(region, width);
    auto row = [&](ValueId source) {
      std::vector<int64_t> paths(width, kNever);
      paths[ports.start] = 0;
      arrive(region, it, source, paths);
      return paths;
    };
    MaxPlusMatrix only = MaxPlusMatrix::identity(width);
    auto setRow = [&](unsigned to, const std::vector<int64_t> &paths) {
      for (unsigned i = 0; i < width; ++i)
        only.at(to, i) = paths[i];
    };
    for (const Region::Carried &c : r.carried)
      if (int column = column_[c.argument]; column >= 0)
        setRow(column, row(deps_.source[c.yielded]));
    it.done[end] = 0;
    setRow(end, it.done);
    // Only the first iteration waits for all of a stack whose newest slice it takes, only the last
    // one for all of a stack that is taken from its oldest slice on.
    auto without = [&](unsigned from, unsigned to) {
      MaxPlusMatrix matrix = only;
      for (unsigned i = 0; i <= end; ++i)
        for (unsigned j = from; j < to; ++j)
          matrix.at(i, j) = kNever;
      return matrix;
    };
    MaxPlusMatrix before =
        r.count == 1 ? MaxPlusMatrix::identity(width)
                     : without(ports.newest, ports.start).power(r.count - 2) * without(ports.oldest, ports.start);
    MaxPlusMatrix all = (r.count == 1 ? only : without(ports.newest, ports.oldest)) * before;
    auto rowOf = [&](const MaxPlusMatrix &m, unsigned to) {
      std::vector<int64_t> paths(width);
      for (unsigned i = 0; i < width; ++i)
        paths[i] = i == end ? kNever : m.at(to, i);
      return paths;
    };
    RepeatSummary &s = result_.summaries[r.owner];
    s.outputs.clear();
    for (const Region::Carried &c : r.carried)
      if (int column = column_[c.argument]; column >= 0)
        s.outputs.push_back({c.result, rowOf(all, column)});
    for (const Region::Slice &slice : r.stashed)
      s.outputs.push_back({slice.stacked, throughLast(ports, r.count, row(deps_.source[slice.inside]), before)});
    s.done = rowOf(all, end);
    s.ports = std::move(ports.sources);
    result_.repeat[r.owner] = {*std::max_element(s.done.begin(), s.done.end())};
    for (ValueId v : ports.bound)
      column_[v] = -1;
  }

  /// Paths to a value of the last iteration, of which `paths` are those within it, through all `before`.
  static std::vector<int64_t> throughLast(const Ports &ports, int64_t count, const std::vector<int64_t> &paths,
                                          const MaxPlusMatrix &before) {
    std::vector<int64_t> through(paths.size(), kNever);
    for (unsigned k = 0; k < paths.size(); ++k) {
      if (count > 1 && k >= ports.newest && k < ports.oldest)
        continue;
      for (unsigned i = 0; i < paths.size(); ++i)
        if (i != ports.end)
          through[i] = std::max(through[i], plus(paths[k], before.at(k, i)));
    }
    return through;
  }

  static constexpr unsigned kMaxDepth = 1u << 20;
  const WorkGraph &graph_;
  const Dependences &deps_;
  std::vector<Picoseconds> durations_;
  std::vector<int> column_;        ///< by ValueId: its port while a body is summarized
  std::vector<unsigned> position_; ///< by OperationId: place in its region
  std::vector<int64_t> tails_;     ///< by ValueId: longest path to the end, while a region is timed
  std::vector<std::vector<OperationId>> chains_;
  CriticalPath result_;
};

} // namespace

std::vector<Picoseconds> durationsOf(const WorkGraph &graph, const Costs &costs) {
  std::vector<Picoseconds> durations(graph.operations.size());
  for (OperationId id = 0; id < durations.size(); ++id)
    if (graph.operations[id].body == kNone)
      durations[id] = Picoseconds::ceil(costs.operations[id].time);
  return durations;
}

Count sumOfWork(const WorkGraph &graph, const std::vector<Picoseconds> &durations) {
  Count sum = 0;
  for (OperationId id = 0; id < durations.size(); ++id)
    sum += graph.executions(id) * durations[id].value;
  return sum;
}

CriticalPath CriticalPath::of(const WorkGraph &graph, const Dependences &dependences,
                              const std::vector<Picoseconds> &durations) {
  Analysis analysis(graph, dependences, durations);
  analysis.run();
  return std::move(analysis.result());
}

struct IncrementalCriticalPath::State : Analysis {
  using Analysis::Analysis;
};
IncrementalCriticalPath::IncrementalCriticalPath(const WorkGraph &graph, const Dependences &dependences,
                                                 std::vector<Picoseconds> durations)
    : state_(std::make_unique<State>(graph, dependences, std::move(durations))) {
  state_->run();
}
IncrementalCriticalPath::~IncrementalCriticalPath() = default;
const CriticalPath &IncrementalCriticalPath::path() const { return state_->result(); }
Picoseconds IncrementalCriticalPath::stepWith(OperationId id, Picoseconds duration) {
  Picoseconds before = state_->duration(id);
  if (duration == before)
    return path().step;
  state_->change(id, duration);
  Picoseconds step = path().step;
  state_->change(id, before);
  return step;
}

MaxPlusMatrix MaxPlusMatrix::identity(unsigned size) {
  MaxPlusMatrix m(size);
  for (unsigned i = 0; i < size; ++i)
    m.at(i, i) = 0;
  return m;
}

MaxPlusMatrix operator*(const MaxPlusMatrix &a, const MaxPlusMatrix &b) {
  unsigned n = a.size_;
  MaxPlusMatrix c(n);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned k = 0; k < n; ++k) {
      int64_t left = a.at(i, k);
      if (left == MaxPlusMatrix::kNever)
        continue;
      for (unsigned j = 0; j < n; ++j)
        if (int64_t right = b.at(k, j); right != MaxPlusMatrix::kNever)
          c.at(i, j) = std::max(c.at(i, j), left + right);
    }
  return c;
}

MaxPlusMatrix MaxPlusMatrix::power(int64_t n) const {
  MaxPlusMatrix result = identity(size_), square = *this;
  for (; n > 0; n >>= 1) {
    if (n & 1)
      result = square * result;
    if (n > 1)
      square = square * square;
  }
  return result;
}

} // namespace accord
