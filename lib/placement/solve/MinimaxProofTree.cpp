#include "lib/placement/solve/MinimaxProofTree.h"

namespace accord::placing {

size_t MinimaxProofTree::split(size_t node, PathBound::Part part) {
  size_t first = nodes_.size();
  nodes_[node].part = std::move(part), nodes_[node].halves = first;
  Node half;
  half.proof = nodes_[node].proof, half.bound = nodes_[node].bound;
  nodes_.resize(first + 2, half);
  return first;
}

void MinimaxProofTree::prove(size_t node, const MinimaxProof &proof, double bound) {
  if (bound <= nodes_[node].bound)
    return;
  nodes_[node].bound = bound;
  nodes_[node].proof = std::make_shared<const MinimaxProof>(proof);
}

namespace {

/// After how many forward passes a group first holds so many micro-batches of each chunk.
int64_t momentOf(const std::vector<PipelinePass> &order, const PipelineShape &shape, const std::vector<int64_t> &held) {
  std::vector<int64_t> now(held.size());
  int64_t forward = 0;
  for (const PipelinePass &pass : order) {
    auto virtualStage = static_cast<size_t>(pass.stage / static_cast<uint64_t>(shape.groups));
    now[virtualStage] += pass.pass == Pass::Forward ? 1 : -1;
    if (pass.pass == Pass::Forward && ++forward && now == held)
      return forward;
  }
  return forward;
}

} // namespace

PathBound MinimaxProofTree::written(const PipelineShape &shape, uint32_t parallelConfig,
                                    const std::vector<InFlightStates> &held) const {
  PathBound all{shape.groups, shape.virtualStages, shape.microbatches, parallelConfig, {}, {}};
  std::map<const PathBound::Path *, uint32_t> known;
  std::vector<std::vector<uint32_t>> moments;
  for (int64_t g = 0; g < shape.groups; ++g) {
    std::vector<PipelinePass> order = passesOf(shape, g);
    moments.emplace_back();
    for (const auto &one : held[g])
      moments.back().push_back(static_cast<uint32_t>(momentOf(order, shape, one)));
  }
  std::vector<size_t> left{0};
  while (!left.empty()) {
    const Node &node = nodes_[left.back()];
    left.pop_back();
    all.parts.push_back(node.part);
    if (node.halves > 0) {
      left.push_back(node.halves + 1), left.push_back(node.halves);
      continue;
    }
    if (!node.proof)
      continue;
    std::map<uint32_t, double> weights;
    for (const auto &[way, weight] : node.proof->paths) {
      auto [found, added] = known.emplace(way.get(), static_cast<uint32_t>(all.paths.size()));
      if (added)
        all.paths.push_back(*way);
      weights[found->second] += weight;
    }
    for (auto [of, weight] : weights)
      all.parts.back().paths.push_back({of, weight});
    for (size_t g = 0; g < moments.size(); ++g) {
      all.parts.back().moments.emplace_back();
      for (size_t k = 0; k < moments[g].size(); ++k)
        if (double weight = node.proof->moments[g][k]; weight > 0)
          all.parts.back().moments.back().push_back({moments[g][k], weight});
    }
  }
  return all;
}

} // namespace accord::placing
