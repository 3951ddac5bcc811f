#include "lib/microarchitecture/kernels/OperationKernels.h"
#include "lib/microarchitecture/mapping/RowOperations.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>

namespace accord::microarchitecture {

std::vector<const LoopTensor *> tensorsOf(const Operation &operation, bool written) {
  std::vector<const LoopTensor *> found;
  for (const LoopTensor &tensor : operation.tensors)
    if (tensor.written == written)
      found.push_back(&tensor);
  return found;
}

int64_t elementsOf(const LoopTensor &tensor) {
  __int128 all = 1;
  for (int64_t size : tensor.sizes)
    all = std::min<__int128>(all * std::max<int64_t>(size, 0), int64_t(1) << 62);
  return int64_t(all);
}

int32_t bytesOf(const LoopTensor &tensor) { return int32_t(std::clamp<int64_t>(tensor.elementBits / 8, 1, 64)); }

bool hasRanks(const Operation &operation, const std::vector<size_t> &ranks) {
  if (operation.tensors.size() < ranks.size())
    return false;
  for (size_t t = 0; t < ranks.size(); ++t)
    if (operation.tensors[t].sizes.size() < ranks[t])
      return false;
  return true;
}

Collapsed collapse(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  std::vector<std::vector<int64_t>> strides;
  for (const LoopTensor &tensor : tensors) {
    std::vector<int64_t> of(domain.size(), 0);
    __int128 stride = 1;
    for (size_t d = tensor.dimensions.size(); d-- > 0;) {
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        of[term.loop] += term.stride * int64_t(stride);
      stride = std::min<__int128>(stride * (d < tensor.sizes.size() ? std::max<int64_t>(tensor.sizes[d], 1) : 1),
                                  int64_t(1) << 46);
    }
    strides.push_back(std::move(of));
  }
  Collapsed made;
  made.strides.resize(tensors.size());
  for (bool reduces : {false, true})
    for (size_t l = 0, first = made.loops.size(); l < domain.size(); ++l) {
      const int64_t extent = domain[l].extent;
      if ((domain[l].kind == IteratorKind::Reduction) != reduces || extent == 1)
        continue;
      bool joins = made.loops.size() > first;
      for (size_t t = 0; t < tensors.size() && joins; ++t)
        joins = made.strides[t].back() == __int128(strides[t][l]) * extent;
      if (joins)
        made.loops.back().extent *= extent;
      else
        made.loops.push_back({fmt::format("d{}", l), extent, reduces});
      for (size_t t = 0; t < tensors.size(); ++t) {
        if (!joins)
          made.strides[t].push_back(0);
        made.strides[t].back() = strides[t][l];
      }
      made.outer += !joins && !reduces;
    }
  if (made.loops.empty()) {
    made.loops.push_back({"one", 1, false}), made.outer = 1;
    for (auto &of : made.strides)
      of.push_back(1);
  }
  return made;
}

ContractionTensor laidOut(const std::string &name, const std::vector<int64_t> &strides,
                          const std::vector<ContractionLoop> &loops, int32_t bytes) {
  std::vector<Index> order;
  for (Index l = 0; l < Index(strides.size()); ++l)
    if (strides[l] > 0)
      order.push_back(l);
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return std::pair(-strides[a], a) < std::pair(-strides[b], b); });
  ContractionTensor made;
  made.name = name, made.bytes = bytes;
  int64_t before = 0;
  for (Index l : order) {
    made.dimensions.push_back({{{l, 1}}, before ? before / strides[l] : loops[l].extent});
    before = strides[l];
  }
  if (before > 1)
    made.dimensions.push_back({{}, before});
  return made;
}

namespace {

using Kind = RowStatement::Kind;

/// Operands that the graph does not name: tables that are made once, as tensors of the domain.
std::vector<LoopTensor> tablesOf(const Operation &operation) {
  auto along = [&](const std::vector<unsigned> &loops) {
    LoopTensor made;
    for (unsigned loop : loops)
      made.dimensions.push_back({{loop, 1}}), made.sizes.push_back(operation.domain[loop].extent);
    return made;
  };
  const unsigned rank = unsigned(operation.domain.size());
  if (operation.kind == "sinusoids" && rank >= 2)
    return {along({rank - 2, rank - 1})};
  if (operation.kind == "alibi" && rank >= 3)
    return {along({rank - 3}), along({rank - 1}), along({rank - 2})};
  return {};
}

/// Tensors of the operation in the place of those of `made` with the same part in it: operands, the last ones where
/// the graph has more, and results.
void setTensors(RowOperation &made, const Operation &operation, size_t operands) {
  std::vector<LoopTensor> all = operation.tensors;
  const std::vector<LoopTensor> tables = tablesOf(operation);
  const auto result = std::find_if(all.begin(), all.end(), [](const LoopTensor &t) { return t.written; });
  const size_t given = size_t(result - all.begin()) + tables.size();
  all.insert(result, tables.begin(), tables.end());
  const Collapsed domain = collapse(operation.domain, all);
  made.loops = domain.loops;
  if (made.outer > 0) // it has rows
    made.outer = domain.outer;
  std::vector<int64_t> everywhere(domain.loops.size(), 1);
  for (size_t l = everywhere.size() - 1; l-- > 0;)
    everywhere[l] = everywhere[l + 1] * domain.loops[l + 1].extent;
  for (size_t t = 0; t < made.tensors.size(); ++t) {
    const bool isOperand = t < operands;
    size_t from = isOperand ? t + given - std::min(given, operands) : given + t - operands;
    if (isOperand && given < operands)
      from = t < given ? t : all.size();
    if (operation.kind == "dropout" && !isOperand) // the graph has the mask behind the result
      from = all.size() - 1 - (t - operands);
    ContractionTensor &tensor = made.tensors[t];
    tensor = from < all.size() ? laidOut(tensor.name, domain.strides[from], made.loops, bytesOf(all[from]))
                               : laidOut(tensor.name, everywhere, made.loops, 4);
  }
}

/// Bytes of elements as the graph has them, in order where both have as many tensors.
void setBytes(RowOperation &made, const Operation &operation) {
  int32_t max = 1;
  for (const LoopTensor &tensor : operation.tensors)
    max = std::max(max, bytesOf(tensor));
  for (size_t t = 0; t < made.tensors.size(); ++t)
    made.tensors[t].bytes = operation.tensors.empty()                         ? 4
                            : made.tensors.size() == operation.tensors.size() ? bytesOf(operation.tensors[t])
                                                                              : max;
}

/// Windows from the map of the input.
std::optional<RowOperation> poolOf(const Operation &operation) {
  if (operation.domain.size() != 6)
    return std::nullopt;
  PoolShape shape;
  const auto &domain = operation.domain;
  shape.images = domain[0].extent, shape.channels = domain[1].extent, shape.outRows = domain[2].extent;
  shape.outColumns = domain[3].extent, shape.windowRows = domain[4].extent, shape.windowColumns = domain[5].extent;
  for (const LoopTensor &tensor : operation.tensors)
    for (size_t d = 0; d < tensor.dimensions.size(); ++d)
      if (const auto &terms = tensor.dimensions[d]; terms.size() > 1 && d < tensor.sizes.size())
        for (const LoopTensor::Term &term : terms) {
          if (term.loop == 2)
            shape.rowStride = term.stride, shape.rows = tensor.sizes[d];
          if (term.loop == 3)
            shape.columnStride = term.stride, shape.columns = tensor.sizes[d];
        }
  return pool(operation.kind, shape);
}

/// What an update reads and writes besides the weight and its states in 4 bytes: a narrower gradient, a copy of the
/// weight.
RowOperation updateOf(const Operation &operation, const PointFormula &formula, int64_t points) {
  RowOperation made = pointOperation(formula, {points});
  const int64_t states = int64_t(formula.operands.size()) - 1; // with the weight
  const int64_t gradient = points > 0 ? operation.bytesRead / points - 4 * states : 4;
  const int64_t copy = points > 0 ? operation.bytesWritten / points - 4 * states : 0;
  if (gradient == 1 || gradient == 2)
    made.tensors[0].bytes = int32_t(gradient);
  if (copy == 1 || copy == 2 || copy == 4) {
    made.tensors.push_back(made.tensors[1]);
    made.tensors.back().name = "copy", made.tensors.back().bytes = int32_t(copy);
    made.passes[0].statements.push_back({Kind::Store, "copy", "w_new"});
  }
  return made;
}

/// The loss of each row, and their sum.
Result<LoopKernel> crossEntropyOf(const Operation &operation, const RowOperation &line, int64_t rows,
                                  const Microarchitecture &machine) {
  Composition made(operation.name, machine);
  made.add(line);
  made.extent('r', rows);
  made.tensor("losses", {rows}, line.tensors.back().bytes), made.tensor("loss", {1}, line.tensors.back().bytes);
  made.rows("", "r", {{"losses", "r"}, {"loss", "."}},
            {{true, {{Kind::Sum, "sum", "losses"}}}, {false, {{Kind::Store, "loss", "sum"}}}});
  return made.finish();
}

} // namespace

MaybeKernel rowKernelOf(const Operation &operation, const std::string &optimizer, const Microarchitecture &machine) {
  const llvm::StringRef kind = operation.kind;
  int64_t rows = 1, length = 1;
  std::vector<int64_t> extents;
  for (const Loop &loop : operation.domain) {
    extents.push_back(loop.extent);
    (loop.kind == IteratorKind::Reduction ? length : rows) *= loop.extent;
  }
  const int64_t last = extents.empty() ? 1 : extents.back();
  auto mapped = [&](RowOperation made, std::vector<std::string> assumptions = {}) -> MaybeKernel {
    made.name = operation.name;
    auto kernel = rowKernel(made, plainRowSchedule(made, machine));
    if (kernel)
      kernel->assumptions = std::move(assumptions);
    return kernel;
  };
  if (kind == "update" || kind == "update_rows") {
    const std::string name = "update_" + optimizer;
    std::vector<std::string> words;
    if (kind == "update_rows")
      words = {"rows of tables are looked up in order"};
    if (const PointFormula *formula = pointFormula(name))
      return mapped(updateOf(operation, *formula, rows * length), words);
    if (auto line = lineOperation(name, rows * length / last, last))
      return mapped(*line, words);
    return std::nullopt;
  }
  if (const PointFormula *formula = pointFormula(operation.kind)) {
    RowOperation made = pointOperation(*formula, {rows * length});
    if (!operation.tensors.empty())
      setTensors(made, operation, formula->operands.size());
    std::vector<std::string> words;
    if (kind == "dropout")
      words = {"random numbers of dropout are read from memory"};
    return mapped(std::move(made), std::move(words));
  }
  const bool isLoss = kind.starts_with("cross_entropy");
  if (isLoss) // each row of logits has a label
    rows = rows * length / last, length = last;
  if (auto line = lineOperation(operation.kind, rows, length)) {
    setBytes(*line, operation);
    if (kind == "cross_entropy")
      return crossEntropyOf(operation, *line, rows, machine);
    return mapped(*line);
  }
  if (auto sum = reduction(operation.kind, rows, length)) {
    if (operation.tensors.empty())
      return mapped(*sum);
    setTensors(*sum, operation, sum->tensors.size() - 1);
    return mapped(*sum);
  }
  if (auto window = poolOf(operation)) {
    setBytes(*window, operation);
    std::vector<std::string> words;
    if (kind == "max_pool_grad")
      words = {"the gradient of max_pool goes to every element that equals the maximum of its window"};
    return mapped(*window, words);
  }
  if (extents.size() < 2 || (!kind.starts_with("batch_norm") && !kind.starts_with("group_norm")))
    return std::nullopt;
  int64_t points = 1, groups = 1;
  for (size_t d = 2; d < extents.size(); ++d)
    points *= extents[d];
  std::vector<std::string> words;
  if (kind.starts_with("group_norm")) {
    groups = extents[1] % 32 == 0 ? 32 : 1;
    words = {fmt::format("group norms have {} groups", groups)};
  }
  auto norm = channelNorm(operation.kind, extents[0], groups, extents[1] / groups, points);
  if (!norm)
    return std::nullopt;
  setBytes(*norm, operation);
  return mapped(*norm, words);
}

} // namespace accord::microarchitecture
