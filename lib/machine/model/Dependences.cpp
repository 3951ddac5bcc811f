#include "lib/machine/model/Dependences.h"
#include <algorithm>

namespace accord {
namespace {

template <typename T> void sortUnique(std::vector<T> &v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

/// Arguments that stand for another storage in each iteration.
std::vector<bool> changingArguments(const WorkGraph &graph) {
  std::vector<bool> changing(graph.values.size());
  for (const Region &region : graph.regions) {
    for (const Region::Carried &c : region.carried)
      changing[c.argument] = true;
    for (const Region::Slice &s : region.unstashed)
      changing[s.inside] = true;
  }
  return changing;
}

} // namespace

Dependences Dependences::of(const WorkGraph &graph) {
  Dependences d;
  size_t operations = graph.operations.size(), values = graph.values.size();
  d.producer.assign(values, kNone);
  for (OperationId id = 0; id < operations; ++id) {
    const Operation &op = graph.operations[id];
    for (ValueId v : op.results)
      d.producer[v] = id;
    if (op.body == kNone)
      continue;
    for (const Region::Carried &c : graph.regions[op.body].carried)
      d.producer[c.result] = id;
    for (const Region::Slice &s : graph.regions[op.body].stashed)
      d.producer[s.stacked] = id;
  }

  d.changing = changingArguments(graph);
  d.root.resize(values);
  d.source.resize(values);
  for (ValueId v = 0; v < values; ++v) {
    ValueId at = v;
    size_t steps = 0;
    auto follow = [&](auto stop) {
      while (!d.changing[at] && graph.values[at].alias != kNone && !stop(at) && ++steps <= values)
        at = graph.values[at].alias;
      return at;
    };
    d.source[v] = follow([&](ValueId x) { return d.producer[x] != kNone; });
    d.root[v] = follow([](ValueId) { return false; });
  }

  d.predecessors.resize(operations);
  d.successors.resize(operations);
  d.uses.resize(operations);
  // A value read in a body is read by every repeat between the body and the region that makes it.
  auto read = [&](OperationId reader, ValueId value) {
    ValueId source = d.source[value];
    OperationId maker = d.producer[source];
    RegionId home = maker != kNone ? graph.operations[maker].region : graph.values[source].region;
    for (OperationId at = reader;;) {
      d.uses[at].push_back(source);
      RegionId region = graph.operations[at].region;
      if (region == home) {
        if (maker != kNone && maker != at)
          d.predecessors[at].push_back(maker);
        return;
      }
      at = graph.regions[region].owner;
      if (at == kNone)
        return;
    }
  };
  for (OperationId id = 0; id < operations; ++id) {
    const Operation &op = graph.operations[id];
    for (ValueId v : op.operands)
      read(id, v);
    if (op.body == kNone)
      continue;
    const Region &body = graph.regions[op.body];
    for (const Region::Carried &c : body.carried) {
      read(id, c.initial);
      // A yielded value that the body does not make (the argument itself, or one from outside) is
      // read by the repeat.
      ValueId source = d.source[c.yielded];
      OperationId maker = d.producer[source];
      if (maker == kNone ? graph.values[source].region != op.body : graph.operations[maker].region != op.body)
        read(id, source);
    }
    for (const Region::Slice &s : body.unstashed)
      read(id, s.stacked);
  }
  for (OperationId id = 0; id < operations; ++id) {
    sortUnique(d.predecessors[id]);
    sortUnique(d.uses[id]);
    for (OperationId before : d.predecessors[id])
      d.successors[before].push_back(id);
  }
  return d;
}

std::vector<Dependences::Carried> Dependences::carried(const WorkGraph &graph, RegionId body) const {
  const Region &region = graph.regions[body];
  std::vector<Carried> found;
  auto add = [&](ValueId argument, OperationId maker, int64_t distance) {
    for (OperationId reader : region.operations)
      if (std::ranges::binary_search(uses[reader], argument))
        found.push_back({maker, reader, distance});
  };
  for (const Region::Carried &c : region.carried) {
    ValueId yielded = source[c.yielded];
    // What is an argument itself was made an iteration earlier still.
    for (size_t distance = 1; distance <= region.carried.size(); ++distance) {
      if (OperationId maker = producer[yielded]; maker != kNone) {
        if (graph.operations[maker].region == body)
          add(c.argument, maker, static_cast<int64_t>(distance));
        break;
      }
      auto handed = std::ranges::find(region.carried, yielded, &Region::Carried::argument);
      if (handed == region.carried.end())
        break;
      yielded = source[handed->yielded];
    }
  }
  std::ranges::sort(found);
  auto same = [](const Carried &a, const Carried &b) { return a.before == b.before && a.after == b.after; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

Dependences::Slices Dependences::order(const WorkGraph &graph, const Region &taker, const Region::Slice &slice) const {
  // A slice of a stack of stacks: outwards to the repeat that made it all, then inwards again.
  ValueId stack = source[slice.stacked];
  size_t levels = 0;
  while (changing[stack]) {
    const Region &around = graph.regions[graph.values[stack].region];
    auto outer = std::find_if(around.unstashed.begin(), around.unstashed.end(),
                              [&](const Region::Slice &s) { return s.inside == stack; });
    if (outer == around.unstashed.end() || ++levels > graph.regions.size())
      return Slices::Oldest; // not known: what claims least
    stack = source[outer->stacked];
  }
  OperationId maker = producer[stack];
  if (maker == kNone || graph.operations[maker].body == kNone)
    return levels ? Slices::Oldest : Slices::Whole;
  for (;; --levels) {
    const Region &body = graph.regions[graph.operations[maker].body];
    auto kept = std::find_if(body.stashed.begin(), body.stashed.end(),
                             [&](const Region::Slice &s) { return s.stacked == stack; });
    if (kept == body.stashed.end())
      return Slices::Oldest;
    if (levels == 0)
      return body.reverse != taker.reverse ? Slices::Newest : Slices::Oldest;
    stack = source[kept->inside];
    maker = producer[stack];
    if (maker == kNone || graph.operations[maker].body == kNone)
      return Slices::Oldest;
  }
}

} // namespace accord
