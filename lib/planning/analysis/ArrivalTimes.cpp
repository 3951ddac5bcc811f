#include "lib/planning/analysis/ArrivalTimes.h"
#include <algorithm>
#include <bit>

namespace accord {

ArrivalTimes::ArrivalTimes(std::vector<uint32_t> firstIn, std::vector<Edge> in, std::vector<int64_t> weights)
    : firstIn_(std::move(firstIn)), in_(std::move(in)), weight_(std::move(weights)), start_(weight_.size()),
      end_(weight_.size()), offset_((weight_.size() + kBlock - 1) / kBlock), last_(offset_.size()) {
  for (uint32_t v = 0; v < size(); ++v) {
    int64_t start = 0;
    for (const Edge *e = begin(v); e != finish(v); ++e)
      start = std::max(start, end_[e->from] + e->delay);
    start_[v] = start;
    end_[v] = start + weight_[v];
    last_[v / kBlock] = std::max(last_[v / kBlock], end_[v]);
  }
}

int64_t ArrivalTimes::length() const {
  int64_t length = 0;
  for (size_t b = 0; b < last_.size(); ++b)
    length = std::max(length, last_[b] + offset_[b]);
  return length;
}

void ArrivalTimes::prepare() {
  prepared_ = true;
  uint32_t n = size(), edges = static_cast<uint32_t>(in_.size());
  auto blocks = static_cast<uint32_t>(offset_.size());
  target_.resize(edges);
  firstOut_.assign(n + 1, 0);
  out_.resize(edges);
  for (uint32_t v = 0; v < n; ++v)
    for (uint32_t e = firstIn_[v]; e < firstIn_[v + 1]; ++e) {
      target_[e] = v;
      ++firstOut_[in_[e].from + 1];
    }
  for (uint32_t v = 0; v < n; ++v)
    firstOut_[v + 1] += firstOut_[v];
  std::vector<uint32_t> at(firstOut_.begin(), firstOut_.end() - 1);
  for (uint32_t e = 0; e < edges; ++e)
    out_[at[in_[e].from]++] = e;

  // Edges into a block are next to one another; those from outside are bundled by where they start.
  bundleOf_.assign(edges, kNone);
  firstInto_.assign(blocks + 1, 0);
  std::vector<std::pair<uint32_t, uint32_t>> outside; // from block, edge
  for (uint32_t b = 0; b < blocks; ++b) {
    outside.clear();
    for (uint32_t e = firstIn_[b * kBlock]; e < firstIn_[std::min(n, (b + 1) * kBlock)]; ++e)
      if (uint32_t from = in_[e].from / kBlock; from != b)
        outside.push_back({from, e});
    std::sort(outside.begin(), outside.end());
    for (auto [from, e] : outside) {
      if (bundles_.size() == firstInto_[b] || bundles_.back().from != from) {
        auto first = static_cast<uint32_t>(bundled_.size());
        bundles_.push_back({b, first, first, from});
      }
      bundleOf_[e] = static_cast<uint32_t>(bundles_.size()) - 1;
      bundled_.push_back(e);
      ++bundles_.back().endEdge;
    }
    firstInto_[b + 1] = static_cast<uint32_t>(bundles_.size());
  }
  firstOutOf_.assign(blocks + 1, 0);
  for (const Bundle &bundle : bundles_)
    ++firstOutOf_[bundle.from + 1];
  for (uint32_t b = 0; b < blocks; ++b)
    firstOutOf_[b + 1] += firstOutOf_[b];
  outOf_.resize(bundles_.size());
  at.assign(firstOutOf_.begin(), firstOutOf_.end() - 1);
  for (uint32_t i = 0; i < bundles_.size(); ++i)
    outOf_[at[bundles_[i].from]++] = i;

  binding_.assign(n, kNone);
  bound_.assign(blocks, 0);
  firstSink_.assign(blocks + 1, 0);
  for (uint32_t v = 0; v < n; ++v) {
    ++bound_[v / kBlock]; // as a node without edges is, until one is found
    for (uint32_t e = firstIn_[v]; e < firstIn_[v + 1]; ++e)
      if (arrival(e) == start(v)) {
        bind(v, e);
        break;
      }
    if (firstOut_[v] == firstOut_[v + 1])
      sinks_.push_back(v);
    firstSink_[v / kBlock + 1] = static_cast<uint32_t>(sinks_.size());
  }
  pending_.assign((blocks + 63) / 64, 0);
  dirty_.assign(size_t{blocks} * (kBlock / 64), 0);
  moves_.resize(blocks);
  wholes_.resize(blocks);
  by_.resize(blocks);
  for (uint32_t b = 0; b < blocks; ++b)
    measureEnds(b);
}

/// Makes `edge` the one that determines v; bound_ counts nodes that none inside of the block does.
void ArrivalTimes::bind(uint32_t v, uint32_t edge) {
  uint32_t block = v / kBlock, before = binding_[v];
  if (before == kNone || bundleOf_[before] != kNone)
    --bound_[block];
  if (before != kNone && bundleOf_[before] != kNone)
    --bundles_[bundleOf_[before]].binding;
  binding_[v] = edge;
  if (bundleOf_[edge] != kNone) {
    ++bound_[block];
    ++bundles_[bundleOf_[edge]].binding;
  }
}

void ArrivalTimes::measureEnds(uint32_t block) {
  last_[block] = INT64_MIN / 2; // no sink: others end later
  for (uint32_t i = firstSink_[block]; i < firstSink_[block + 1]; ++i)
    last_[block] = std::max(last_[block], end_[sinks_[i]]);
}

int64_t ArrivalTimes::slackOf(Bundle &bundle) {
  if (bundle.stale) {
    bundle.slack = INT64_MAX;
    for (uint32_t i = bundle.firstEdge; i < bundle.endEdge; ++i) {
      uint32_t e = bundled_[i];
      bundle.slack = std::min(bundle.slack, start_[target_[e]] - end_[in_[e].from] - in_[e].delay);
    }
    bundle.stale = false;
  }
  return bundle.slack + offset_[bundle.block] - offset_[bundle.from];
}

void ArrivalTimes::setWeights(const std::vector<std::pair<uint32_t, int64_t>> &changes) {
  if (!prepared_)
    prepare();
  for (auto [v, weight] : changes) {
    if (weight_[v] == weight)
      continue;
    weight_[v] = weight;
    dirty(v);
    pend(v / kBlock);
  }
  // Blocks only make later ones pending.
  for (size_t word = 0; word < pending_.size(); ++word)
    while (pending_[word]) {
      auto bit = static_cast<unsigned>(std::countr_zero(pending_[word]));
      pending_[word] &= pending_[word] - 1;
      visit(static_cast<uint32_t>(word * 64 + bit));
    }
}

void ArrivalTimes::visit(uint32_t block) {
  const uint64_t *bits = &dirty_[size_t{block} * (kBlock / 64)];
  bool changed = std::any_of(bits, bits + kBlock / 64, [](uint64_t word) { return word != 0; });
  if (changed || !moveWhole(block))
    moveApart(block);
  moves_[block].clear();
  wholes_[block].clear();
}

/// All nodes by one amount, if that is what happens to them.
bool ArrivalTimes::moveWhole(uint32_t block) {
  int64_t by = 0;
  uint32_t moved = 0;
  auto binds = [&](int64_t amount, uint32_t nodes) {
    bool alike = moved == 0 || by == amount;
    by = amount;
    moved += nodes;
    return alike;
  };
  for (const Move &move : moves_[block])
    if (binding_[target_[move.edge]] == move.edge && !binds(move.by, 1))
      return false;
  for (uint32_t i : wholes_[block])
    if (bundles_[i].binding && !binds(by_[bundles_[i].from], bundles_[i].binding))
      return false;
  if (moved && moved != bound_[block])
    return false;
  for (const Move &move : moves_[block])
    if (start(target_[move.edge]) + by < arrival(move.edge))
      return false;
  for (uint32_t i : wholes_[block])
    if (slackOf(bundles_[i]) + by < 0)
      return false;
  if (by < 0) // edges that did not move may bind now
    for (uint32_t i = firstInto_[block]; i < firstInto_[block + 1]; ++i)
      if (slackOf(bundles_[i]) + by < 0)
        return false;
  if (by == 0)
    return true;
  ++work_.blocks;
  offset_[block] += by;
  by_[block] = by;
  for (uint32_t i = firstOutOf_[block]; i < firstOutOf_[block + 1]; ++i) {
    uint32_t to = bundles_[outOf_[i]].block;
    wholes_[to].push_back(outOf_[i]);
    pend(to);
  }
  return true;
}

void ArrivalTimes::moveApart(uint32_t block) {
  auto check = [&](uint32_t e) {
    uint32_t v = target_[e];
    if (binding_[v] == e || arrival(e) > start(v))
      dirty(v);
  };
  for (const Move &move : moves_[block])
    check(move.edge);
  for (uint32_t i : wholes_[block])
    for (uint32_t k = bundles_[i].firstEdge; k < bundles_[i].endEdge; ++k)
      check(bundled_[k]);
  size_t first = size_t{block} * (kBlock / 64);
  for (size_t word = first; word < first + kBlock / 64; ++word)
    while (dirty_[word]) {
      auto bit = static_cast<unsigned>(std::countr_zero(dirty_[word]));
      dirty_[word] &= dirty_[word] - 1;
      compute(static_cast<uint32_t>(word * 64 + bit));
    }
  if (firstSink_[block] != firstSink_[block + 1])
    measureEnds(block);
}

void ArrivalTimes::compute(uint32_t v) {
  ++work_.nodes;
  uint32_t block = v / kBlock, edge = binding_[v];
  // The edge that determined the start stays, if it can: fewer blocks change their minds.
  int64_t latest = edge == kNone ? 0 : arrival(edge);
  for (uint32_t e = firstIn_[v]; e < firstIn_[v + 1]; ++e)
    if (int64_t at = arrival(e); at > latest) {
      latest = at;
      edge = e;
    }
  if (edge != binding_[v])
    bind(v, edge);
  int64_t start = latest - offset_[block], end = start + weight_[v], by = end - end_[v];
  if (start != start_[v])
    for (uint32_t e = firstIn_[v]; e < firstIn_[v + 1]; ++e)
      if (bundleOf_[e] != kNone)
        bundles_[bundleOf_[e]].stale = true;
  start_[v] = start;
  if (by == 0)
    return;
  end_[v] = end;
  for (uint32_t i = firstOut_[v]; i < firstOut_[v + 1]; ++i) {
    uint32_t e = out_[i], to = target_[e];
    if (bundleOf_[e] == kNone) {
      if (binding_[to] == e || arrival(e) > this->start(to))
        dirty(to);
    } else {
      bundles_[bundleOf_[e]].stale = true;
      moves_[to / kBlock].push_back({e, by});
      pend(to / kBlock);
    }
  }
}

} // namespace accord
