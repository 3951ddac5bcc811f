#include "lib/sparsity/cost/ExpectedTimes.h"
#include "lib/machine/operations/SparseProducts.h"
#include <algorithm>

namespace accord {
namespace {

constexpr double kLargeExtent = 1024, kSmallExtent = 64;
constexpr operations::SparseSpeedup kLarge{1.56, 1.18, 1.79, true}, kSmall{1.32, 0.78, 1.69, true},
    kTiny{1, 0.11, 1.69, true};
constexpr double kMaskCopies = 1.9, kMinMaskCopies = 1.7, kMaxMaskCopies = 2.4;

const SparseKernelTable *tableOf(const std::vector<SparseKernelTable> &kernels, const std::string &type) {
  auto found = std::ranges::find(kernels, type, &SparseKernelTable::type);
  return found == kernels.end() ? nullptr : &*found;
}

} // namespace

bool runsSparseKernels(const SparseCore &core) {
  auto isHalf = [](const SparseAcceleration &use) { return use.of > 0 && 2 * use.kept == use.of; };
  return core.wordsPerCycle == 0 && (isHalf(core.stationary) || isHalf(core.streaming));
}

void expectKernels(SparseProductTime &product, const std::vector<SparseKernelTable> &kernels) {
  const SparseKernelTable *table = tableOf(kernels, product.type);
  const double extent = std::min({product.rows, product.depth, product.columns});
  const operations::SparseSpeedup published = extent >= kLargeExtent ? kLarge : extent >= kSmallExtent ? kSmall : kTiny;
  const operations::SparseSpeedup speedup =
      table && !table->points.empty() ? operations::sparseSpeedup(*table, product.rows, product.depth, product.columns)
                                      : published;
  product.expected = std::max(product.ideal, product.dense / speedup.mean);
  product.min = std::max(product.ideal, product.dense / speedup.high);
  product.max = std::max(product.ideal, product.dense / speedup.low);
}

void expectMaskSearch(MaskSearchTime &masks, const std::vector<SparseKernelTable> &kernels) {
  const double times = masks.matrices / masks.period;
  const SparseKernelTable *table = tableOf(kernels, masks.type);
  if (auto measured = table ? operations::maskSeconds(*table, masks.transposable, masks.elements) : std::nullopt) {
    masks.seconds = masks.min = masks.max = times * *measured;
    return;
  }
  const double copy = masks.bandwidth > 0 ? times * 2 * masks.elements * masks.bits / 8 / masks.bandwidth : 0;
  masks.seconds = kMaskCopies * copy, masks.min = kMinMaskCopies * copy, masks.max = kMaxMaskCopies * copy;
}

} // namespace accord
