// Networks as lines over bytes.
#include "lib/placement/builder/Offer.h"
#include <algorithm>
#include <cmath>

namespace accord {

std::vector<LinearTime> lowest(std::vector<LinearTime> lines) {
  std::sort(lines.begin(), lines.end(), [](const LinearTime &a, const LinearTime &b) {
    return std::pair(a.latency, a.perByte) < std::pair(b.latency, b.perByte);
  });
  // Lines of falling slope; one is never the least if its neighbours meet below it.
  std::vector<LinearTime> kept;
  for (const LinearTime &line : lines) {
    if (!kept.empty() && line.perByte >= kept.back().perByte)
      continue;
    while (kept.size() > 1) {
      const LinearTime &a = kept[kept.size() - 2], &b = kept.back();
      if ((line.latency - a.latency) * (a.perByte - b.perByte) >
          (b.latency - a.latency) * (a.perByte - line.perByte))
        break;
      kept.pop_back();
    }
    kept.push_back(line);
  }
  return kept;
}

std::variant<std::vector<LinearTime>, Issue> linesOf(const Fabric &fabric, Collective collective,
                                                     const Groups &groups) {
  auto model = CollectiveModel::make(fabric, collective, groups);
  if (auto *issue = std::get_if<Issue>(&model))
    return *issue;
  std::vector<double> latencies, ratios(fabric.levels.size(), 1);
  for (const Network &level : fabric.levels)
    latencies.push_back(level.latency.value);
  std::vector<LinearTime> lines;
  for (const CollectiveTerms &way : std::get<CollectiveModel>(model).terms()) {
    double alpha = way.alpha.at(latencies), beta = way.beta.at(ratios);
    for (double pieces = 1; pieces <= kMostPieces; pieces *= 4) {
      LinearTime line{alpha, beta};
      for (const CollectiveTerms::Tree &tree : way.trees) {
        double rounds = static_cast<double>(tree.depth) + pieces - 1;
        line.latency += rounds * tree.alpha.at(latencies);
        line.perByte += rounds * tree.beta.at(ratios) / pieces;
      }
      lines.push_back({line.latency * 1e12, line.perByte * 1e12});
      if (way.trees.empty())
        break;
    }
  }
  return lowest(std::move(lines));
}

} // namespace accord
