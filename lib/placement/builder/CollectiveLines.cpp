// Networks as lines over bytes.
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include <algorithm>
#include <cmath>

namespace accord {

std::vector<AlphaBetaModel> lowerEnvelope(std::vector<AlphaBetaModel> lines) {
  std::sort(lines.begin(), lines.end(), [](const AlphaBetaModel &a, const AlphaBetaModel &b) {
    return std::pair(a.latency, a.perByte) < std::pair(b.latency, b.perByte);
  });
  // Lines of falling slope; one is never the least if its neighbours meet below it.
  std::vector<AlphaBetaModel> activations;
  for (const AlphaBetaModel &line : lines) {
    if (!activations.empty() && line.perByte >= activations.back().perByte)
      continue;
    while (activations.size() > 1) {
      const AlphaBetaModel &a = activations[activations.size() - 2], &b = activations.back();
      if ((line.latency - a.latency) * (a.perByte - b.perByte) > (b.latency - a.latency) * (a.perByte - line.perByte))
        break;
      activations.pop_back();
    }
    activations.push_back(line);
  }
  return activations;
}

Result<std::vector<AlphaBetaModel>> linesOf(const Fabric &fabric, Collective collective, const Groups &groups) {
  auto model = CollectiveModel::make(fabric, collective, groups);
  if (!model)
    return model.error();
  std::vector<double> latencies, ratios(fabric.levels.size(), 1);
  for (const Network &level : fabric.levels)
    latencies.push_back(level.latency.value);
  std::vector<AlphaBetaModel> lines;
  for (const CollectiveTerms &way : model->terms()) {
    double alpha = way.alpha.at(latencies), beta = way.beta.at(ratios);
    for (double pieces = 1; pieces <= kMaxPieces; pieces *= 4) {
      AlphaBetaModel line{alpha, beta};
      for (const CollectiveTerms::Tree &tree : way.trees) {
        double rounds = tree.depth + pieces - 1;
        line.latency += rounds * tree.alpha.at(latencies);
        line.perByte += rounds * tree.beta.at(ratios) / pieces;
      }
      lines.push_back({line.latency * 1e12, line.perByte * 1e12});
      if (way.trees.empty())
        break;
    }
  }
  return lowerEnvelope(std::move(lines));
}

} // namespace accord
