#include "lib/placement/builder/Layers.h"
#include <algorithm>

namespace accord {

int64_t Layering::layers() const {
  int64_t sum = 0;
  for (const Class &one : classes)
    sum += one.count;
  return sum;
}

uint32_t Layering::firstOf(uint32_t cls) const {
  int64_t sum = 0;
  for (uint32_t c = 0; c < cls; ++c)
    sum += classes[c].count;
  return static_cast<uint32_t>(sum);
}

namespace layers {

const uint32_t *byPrefix(const std::map<std::string, uint32_t> &classOf, const std::string &name) {
  for (std::string key = name;;) {
    if (auto found = classOf.find(key); found != classOf.end())
      return &found->second;
    size_t dot = key.rfind('.');
    if (dot == std::string::npos)
      return nullptr;
    key.resize(dot);
  }
}

namespace {
bool ofGradient(const WorkGraph &graph, const Operation &op) {
  if (op.phase == Phase::DataGradient || op.phase == Phase::WeightGradient || op.phase == Phase::Recompute)
    return true;
  if (op.body == kNone)
    return false;
  const std::vector<OperationId> &body = graph.regions[op.body].operations;
  return std::any_of(body.begin(), body.end(), [&](OperationId id) { return ofGradient(graph, graph.operations[id]); });
}
} // namespace

std::vector<bool> backwardOf(const WorkGraph &graph, const Dependences &deps) {
  // The forward pass ends where the first gradient is made; what stands behind it without depending on it (a kept
  // activation that is gathered) is there for the backward pass.
  std::vector<bool> backward;
  std::vector<bool> marked(graph.operations.size());
  bool behind = false;
  for (OperationId id : graph.regions[kMicrobatchRegion].operations) {
    behind |= ofGradient(graph, graph.operations[id]);
    for (OperationId before : deps.predecessors[id])
      marked[id] = marked[id] || marked[before];
    marked[id] = marked[id] || behind;
    backward.push_back(marked[id]);
  }
  return backward;
}

std::vector<Part> partsOf(const Layering &layering, const WorkGraph &graph, const Dependences &deps) {
  const auto &all = graph.regions[kMicrobatchRegion].operations;
  std::vector<bool> backward = backwardOf(graph, deps);
  std::map<OperationId, uint32_t> classOf;
  std::vector<Part> parts;
  for (size_t i = 0; i < all.size(); ++i) {
    OperationId id = all[i];
    uint32_t cls = 0;
    if (const uint32_t *named = byPrefix(layering.classOf, graph.operations[id].name)) {
      cls = *named;
    } else {
      // The last one of the forward pass that it reads; in the backward pass the first one.
      bool found = false;
      for (OperationId before : deps.predecessors[id]) {
        auto of = classOf.find(before);
        if (of == classOf.end())
          continue;
        cls = !found ? of->second : backward[i] ? std::min(cls, of->second) : std::max(cls, of->second);
        found = true;
      }
    }
    classOf[id] = cls;
    parts.push_back({cls, backward[i]});
  }
  return parts;
}

std::set<ValueId> stashed(const WorkGraph &graph, const Dependences &deps, RegionId r) {
  const Region &body = graph.regions[r];
  std::set<ValueId> roots;
  for (const Region::Slice &s : body.stashed)
    roots.insert(deps.root[s.inside]);
  for (const Region::Carried &c : body.carried)
    if (roots.count(deps.root[c.argument]) && deps.root[c.yielded] != deps.root[c.argument])
      roots.erase(deps.root[c.yielded]);
  return roots;
}

bool counts(const Value &value) {
  return value.category != Category::Weights && value.category != Category::Gradients &&
         value.category != Category::OptimizerStates;
}

int64_t &bytesOf(const StaticTensor &resident, LayerUse &use) {
  if (resident.category == Category::Weights)
    return resident.quantized ? use.quantized : use.weights;
  return resident.category == Category::Gradients ? use.gradients : use.states;
}

} // namespace layers

namespace {

class LayerCutter {
public:
  /// No schedule: wherever it may be cut, and nothing joins but what takes no time on any machine.
  LayerCutter(const WorkGraph &graph, const Schedule *schedule)
      : graph_(graph), deps_(Dependences::of(graph)), takes_(graph.operations.size()), finest_(!schedule) {
    if (schedule)
      for (const Slot &slot : schedule->regions[kMicrobatchRegion].slots)
        takes_[slot.operation] = slot.duration.value;
    else
      for (OperationId id = 0; id < takes_.size(); ++id)
        takes_[id] = graph.operations[id].body != kNone || graph.operations[id].core != CoreKind::None;
    std::vector<bool> backward = layers::backwardOf(graph, deps_);
    const auto &all = graph.regions[kMicrobatchRegion].operations;
    for (size_t i = 0; i < all.size(); ++i)
      if (!backward[i])
        forward_.push_back(all[i]);
  }

  Layering run() {
    int64_t total = 0, iterated = 0;
    for (OperationId id : forward_) {
      total += takes_[id];
      iterated += layered(id) ? takes_[id] : 0;
    }
    bool cuts = finest_ || 2 * iterated < total;
    small_ = finest_ ? 0 : total / 100;
    std::map<std::string, uint32_t> names;
    for (OperationId id : forward_)
      names.emplace(graph_.operations[id].name, id);
    for (const StaticTensor &r : graph_.staticTensors) {
      if (const uint32_t *id = layers::byPrefix(names, r.name))
        residents_[graph_.operations[*id].name] += r.bytes / 1024;
      smallBytes_ += r.bytes / 1024 / 100;
    }
    std::vector<OperationId> piece;
    for (size_t i = 0; i < forward_.size(); ++i) {
      OperationId id = forward_[i];
      if (layered(id)) {
        close(piece, false);
        add({id}, graph_.regions[graph_.operations[id].body].count, true);
        continue;
      }
      piece.push_back(id);
      if (cuts && liveAfter(i) == 1)
        close(piece, true);
    }
    close(piece, false);
    edges();
    return std::move(out_);
  }

private:
  /// Whether each iteration of a repeat is a layer.
  bool layered(OperationId id) const {
    const Operation &op = graph_.operations[id];
    if (op.body == kNone || !graph_.regions[op.body].unstashed.empty() || graph_.regions[op.body].count < 2)
      return false;
    return std::any_of(graph_.staticTensors.begin(), graph_.staticTensors.end(), [&](const StaticTensor &r) {
      return r.name.size() > op.name.size() && r.name.compare(0, op.name.size(), op.name) == 0 &&
             r.name[op.name.size()] == '.';
    });
  }

  void add(const std::vector<OperationId> &operations, int64_t count, bool iterated) {
    uint32_t cls = out_.classes.size();
    out_.classes.push_back({graph_.operations[operations.front()].name, count, iterated});
    for (OperationId id : operations)
      out_.classOf.emplace(graph_.operations[id].name, cls);
  }

  /// The operations so far are a layer. `mayJoin`: or, if they are small, they belong to the one before. After the
  /// iterations of a repeat they would run in each of them.
  void close(std::vector<OperationId> &piece, bool mayJoin) {
    if (piece.empty())
      return;
    int64_t time = 0, bytes = 0;
    for (OperationId id : piece) {
      time += takes_[id];
      if (auto found = residents_.find(graph_.operations[id].name); found != residents_.end())
        bytes += found->second;
    }
    bool nothing = time == 0 && bytes == 0, // views
        small = time < small_ && bytes < smallBytes_;
    if (!out_.classes.empty() && (nothing || (mayJoin && small && !out_.classes.back().iterated)))
      for (OperationId id : piece)
        out_.classOf.emplace(graph_.operations[id].name, static_cast<uint32_t>(out_.classes.size() - 1));
    else
      add(piece, 1, false);
    piece.clear();
  }

  /// Activations that later operations of the forward pass read, after the i-th one.
  size_t liveAfter(size_t i) {
    if (lastUse_.empty())
      for (size_t k = 0; k < forward_.size(); ++k)
        for (ValueId v : deps_.uses[forward_[k]])
          lastUse_[deps_.root[v]] = k;
    for (ValueId v : graph_.operations[forward_[i]].results)
      if (layers::counts(graph_.values[v]) && lastUse_.count(deps_.root[v]))
        live_.insert(deps_.root[v]);
    for (auto it = live_.begin(); it != live_.end();)
      it = lastUse_[*it] <= i ? live_.erase(it) : std::next(it);
    return live_.size();
  }

  void edges() {
    std::map<std::pair<uint32_t, uint32_t>, int64_t> found;
    auto edge = [&](uint32_t from, uint32_t to, int64_t bytes) {
      if (from < to)
        found[{from, to}] += bytes / std::max<int64_t>(1, graph_.microbatch);
    };
    auto last = [&](uint32_t cls) { return out_.firstOf(cls) + static_cast<uint32_t>(out_.classes[cls].count) - 1; };
    std::map<ValueId, uint32_t> madeIn; // root -> class
    for (OperationId id : forward_) {
      const Operation &op = graph_.operations[id];
      uint32_t cls = out_.classOf.at(op.name), first = out_.firstOf(cls);
      bool iterated = out_.classes[cls].iterated;
      std::set<ValueId> starts, read;
      if (iterated)
        for (const Region::Carried &c : graph_.regions[op.body].carried)
          starts.insert(deps_.root[c.initial]);
      for (ValueId v : deps_.uses[id])
        read.insert(deps_.root[v]);
      read.insert(starts.begin(), starts.end());
      for (ValueId root : read) {
        auto made = madeIn.find(root);
        if (made == madeIn.end() || made->second == cls || !layers::counts(graph_.values[root]))
          continue;
        for (uint32_t to = first; to <= (iterated && !starts.count(root) ? last(cls) : first); ++to)
          if (sent_.insert({root, to}).second) // several operations of a layer read it: once
            edge(last(made->second), to, graph_.values[root].bytes);
      }
      if (iterated)
        for (const Region::Carried &c : graph_.regions[op.body].carried)
          if (layers::counts(graph_.values[c.argument]))
            for (uint32_t layer = first; layer < last(cls); ++layer)
              edge(layer, layer + 1, graph_.values[c.argument].bytes);
      for (ValueId v : op.results)
        madeIn.emplace(deps_.root[v], cls);
    }
    for (auto &[ends, bytes] : found)
      out_.edges.push_back({ends.first, ends.second, bytes});
  }

  const WorkGraph &graph_;
  Dependences deps_;
  std::vector<int64_t> takes_;
  bool finest_;
  std::vector<OperationId> forward_;
  int64_t small_ = 0, smallBytes_ = 0;       ///< picoseconds; KiB of residents
  std::map<std::string, int64_t> residents_; ///< KiB by name of an operation
  std::map<ValueId, size_t> lastUse_;
  std::set<ValueId> live_;
  std::set<std::pair<ValueId, uint32_t>> sent_;
  Layering out_;
};

} // namespace

Layering Layering::of(const WorkGraph &graph, const Schedule &schedule) { return LayerCutter(graph, &schedule).run(); }

Layering Layering::finest(const WorkGraph &graph) { return LayerCutter(graph, nullptr).run(); }

} // namespace accord
