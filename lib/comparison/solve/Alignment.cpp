#include "lib/comparison/solve/Alignment.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace accord::comparison {
namespace {

constexpr size_t kCells = size_t(1) << 28;

/// Numbers for equal signatures, and the likeness of each pair of numbers, so that cells compare no texts.
struct Classes {
  std::vector<uint32_t> of;
  std::vector<const Signature *> all;

  explicit Classes(const std::vector<const Signature *> &list) {
    std::map<std::tuple<WorkClass, std::string, int64_t, int64_t>, uint32_t> numbers;
    for (const Signature *one : list) {
      auto [at, isNew] = numbers.try_emplace({one->workClass, one->word, one->size, one->depth}, all.size());
      if (isNew)
        all.push_back(one);
      of.push_back(at->second);
    }
  }
};

} // namespace

int likenessOf(const Signature &planned, const Signature &measured) {
  if (planned.workClass != measured.workClass || planned.workClass == WorkClass::Other)
    return 0;
  const bool sameWord = planned.word == measured.word;
  if (planned.size == 0 || measured.size == 0)
    return planned.workClass == WorkClass::ElementWise ? (sameWord ? 2 : measured.word.empty() ? 1 : 0) : 1;
  if (planned.size != measured.size || (planned.depth > 0 && measured.depth > 0 && planned.depth != measured.depth))
    return 0;
  switch (planned.workClass) {
  case WorkClass::ElementWise:
    return sameWord ? 5 : 3;
  case WorkClass::Copy:
  case WorkClass::Fill:
    return 4;
  default:
    return 8;
  }
}

std::vector<std::pair<uint32_t, uint32_t>> alignedPairs(const std::vector<const Signature *> &planned,
                                                        const std::vector<const Signature *> &measured) {
  const size_t n = planned.size(), m = measured.size();
  if (n == 0 || m == 0 || n > kCells / m)
    return {};
  Classes rows(planned), columns(measured);
  std::vector<int> likeness(rows.all.size() * columns.all.size());
  for (size_t r = 0; r < rows.all.size(); ++r)
    for (size_t c = 0; c < columns.all.size(); ++c)
      likeness[r * columns.all.size() + c] = likenessOf(*rows.all[r], *columns.all[c]);
  // From the end, so that the way back starts at the beginning: cell (i, j) has the largest sum of what is behind.
  enum Step : uint8_t { Both, SkipPlanned, SkipMeasured };
  std::vector<uint8_t> steps(n * m);
  std::vector<int64_t> below(m + 1), here(m + 1);
  for (size_t i = n; i-- > 0;) {
    const int *row = &likeness[rows.of[i] * columns.all.size()];
    here[m] = 0;
    for (size_t j = m; j-- > 0;) {
      const int like = row[columns.of[j]];
      const int64_t both = like > 0 ? like + below[j + 1] : -1;
      here[j] = std::max({both, below[j], here[j + 1]});
      steps[i * m + j] = here[j] == both ? Both : here[j] == below[j] ? SkipPlanned : SkipMeasured;
    }
    std::swap(here, below);
  }
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (size_t i = 0, j = 0; i < n && j < m;) {
    const uint8_t step = steps[i * m + j];
    if (step == Both)
      pairs.emplace_back(i, j);
    i += step != SkipMeasured;
    j += step != SkipPlanned;
  }
  return pairs;
}

} // namespace accord::comparison
