#include "lib/placement/evaluate/PipelinePaths.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace accord::placing {

double lengthOf(const PathCounts &path, const PathTimes &times) {
  return std::inner_product(path.passes.begin(), path.passes.end(), times.passes.begin(), path.sends) +
         std::inner_product(path.ends.begin(), path.ends.end(), times.stepTail.begin(), 0.0);
}

PassOrder::PassOrder(const PipelineShape &shape, std::vector<double> send) : shape_(shape), send_(std::move(send)) {
  size_t stages = shape.groups * shape.virtualStages, m = shape.microbatches;
  // Where each pass takes a while, what it waits for begins earlier.
  PipelineRun run = simulate(shape, std::vector<StageTimes>(stages, {1, 1, 0, 0, 0}), chainOf(stages), true);
  struct At {
    int64_t start;
    uint32_t group, index;
  };
  std::vector<At> order;
  for (uint32_t g = 0; g < run.passes.size(); ++g)
    for (uint32_t i = 0; i < run.passes[g].size(); ++i)
      order.push_back({run.passes[g][i].start, g, i});
  std::sort(order.begin(), order.end(),
            [](const At &a, const At &b) { return a.start != b.start ? a.start < b.start : a.group < b.group; });
  last_.assign(run.passes.size(), -1);
  std::vector<int32_t> node(2 * stages * m, -1);
  auto at = [&](size_t stage, bool backward, size_t microbatch) -> int32_t & {
    return node[(2 * stage + backward) * m + microbatch];
  };
  for (const At &one : order) {
    const PipelinePass &pass = run.passes[one.group][one.index].pass;
    bool back = pass.pass == Pass::Backward;
    size_t stage = pass.stage;
    Node mine{static_cast<uint32_t>(2 * stage + back), last_[one.group], -1, -1};
    if (back && stage + 1 < stages)
      mine.needs = at(stage + 1, true, pass.microbatch), mine.boundary = pass.stage;
    else if (back)
      mine.needs = at(stage, false, pass.microbatch);
    else if (stage > 0)
      mine.needs = at(stage - 1, false, pass.microbatch), mine.boundary = mine.pass / 2 - 1;
    last_[one.group] = at(stage, back, pass.microbatch) = nodes_.size();
    nodes_.push_back(mine);
  }
  ends_.resize(nodes_.size());
}

double PassOrder::longest(const PathTimes &times, PathCounts &path) {
  auto arrival = [&](const Node &node) {
    return node.needs < 0 ? 0 : ends_[node.needs] + (node.boundary < 0 ? 0 : send_[node.boundary]);
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &node = nodes_[i];
    double free = node.before < 0 ? 0 : ends_[node.before];
    ends_[i] = std::max(free, arrival(node)) + times.passes[node.pass];
  }
  double step = -1;
  size_t end = 0;
  for (size_t g = 0; g < last_.size(); ++g)
    if (double mine = ends_[last_[g]] + times.stepTail[g]; mine > step)
      step = mine, end = g;
  path = {std::vector<double>(times.passes.size()), std::vector<double>(last_.size()), 0, {}};
  path.ends[end] = 1;
  std::vector<uint32_t> runs{0}; ///< from the end on
  for (int32_t i = last_[end]; i >= 0;) {
    const Node &node = nodes_[i];
    path.passes[node.pass] += 1, ++runs.back();
    double free = node.before < 0 ? 0 : ends_[node.before];
    // What a pass needs of its own group has run before it anyway.
    if (node.boundary >= 0 && arrival(node) > free) {
      path.sends += send_[node.boundary];
      i = node.needs, runs.push_back(0);
    } else {
      i = node.before;
    }
  }
  std::reverse(runs.begin(), runs.end());
  path.way = pathFrom(runs);
  return step;
}

/// Equal runs together.
std::shared_ptr<const PathBound::Path> PassOrder::pathFrom(const std::vector<uint32_t> &runs) {
  PathBound::Path way;
  for (uint32_t run : runs)
    if (!way.empty() && way.back().first == run)
      ++way.back().second;
    else
      way.push_back({run, 1});
  return std::make_shared<const PathBound::Path>(std::move(way));
}

PathCounts PassOrder::through(int64_t group, bool back) const {
  size_t p = shape_.groups, g = group;
  PathCounts path{std::vector<double>(2 * p * shape_.virtualStages), std::vector<double>(p), 0, {}};
  for (size_t s = g; 2 * s < path.passes.size(); s += p)
    path.passes[2 * s] = path.passes[2 * s + 1] = shape_.microbatches;
  for (size_t s = 0; s < g; ++s) {
    path.passes[2 * s] = 1, path.passes[2 * s + 1] = back ? 1 : 0;
    path.sends += (back ? 2 : 1) * send_[s];
  }
  path.ends[back ? 0 : g] = 1;
  std::vector<uint32_t> runs(g, 1);
  runs.push_back(2 * shape_.microbatches * shape_.virtualStages);
  if (back)
    runs.insert(runs.end(), g, 1);
  path.way = pathFrom(runs);
  return path;
}

GameWeights solveGame(const std::vector<std::vector<double>> &matrix) {
  // With u the columns' weights / value: most sum of u with matrix * u <= 1 in each row.
  size_t rows = matrix.size(), columns = matrix[0].size(), width = columns + rows + 1;
  double scale = matrix[0][0];
  std::vector<std::vector<double>> table(rows + 1, std::vector<double>(width));
  std::vector<size_t> basis(rows);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j)
      table[i][j] = matrix[i][j] / scale;
    // Right sides that differ a little have no ties, at which the method may turn in circles.
    table[i][columns + i] = 1, table[i][width - 1] = 1 + 1e-7 * std::fmod(i * std::numbers::phi, 1);
    basis[i] = columns + i;
  }
  for (size_t j = 0; j < columns; ++j)
    table[rows][j] = -1;
  constexpr double Tiny = 1e-11;
  for (size_t pivots = 0; pivots < 20 * (rows + columns); ++pivots) {
    size_t enter = width - 1;
    double best = -Tiny;
    for (size_t j = 0; j + 1 < width; ++j)
      if (table[rows][j] < best)
        best = table[rows][j], enter = j;
    if (enter == width - 1)
      break;
    size_t leave = rows;
    for (size_t i = 0; i < rows; ++i)
      if (table[i][enter] > Tiny &&
          (leave == rows || table[i][width - 1] * table[leave][enter] < table[leave][width - 1] * table[i][enter]))
        leave = i;
    if (leave == rows)
      break;
    auto &row = table[leave];
    double by = row[enter];
    for (double &cell : row)
      cell /= by;
    for (size_t i = 0; i <= rows; ++i)
      if (double times = table[i][enter]; i != leave && times != 0)
        for (size_t j = 0; j < width; ++j)
          table[i][j] -= times * row[j];
    basis[leave] = enter;
  }
  GameWeights weights{std::vector<double>(rows), std::vector<double>(columns), 0};
  double sum = 0;
  for (size_t i = 0; i < rows; ++i) {
    weights.rows[i] = std::max(0.0, table[rows][columns + i]), sum += weights.rows[i];
    if (basis[i] < columns)
      weights.columns[basis[i]] = std::max(0.0, table[i][width - 1]);
  }
  double other = std::accumulate(weights.columns.begin(), weights.columns.end(), 0.0);
  weights.value = sum > 0 ? scale / sum : 0;
  for (double &weight : weights.rows)
    weight = sum > 0 ? weight / sum : 1.0 / rows;
  for (double &weight : weights.columns)
    weight = other > 0 ? weight / other : 1.0 / columns;
  return weights;
}

} // namespace accord::placing
