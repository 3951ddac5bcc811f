#include "lib/microarchitecture/kernels/Composition.h"
#include <fmt/format.h>

namespace accord::microarchitecture {

std::vector<int64_t> Composition::Stored::strides() const {
  std::vector<int64_t> made(sizes.size(), 1);
  __int128 stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    made[d] = int64_t(stride);
    stride = std::min<__int128>(stride * std::max<int64_t>(sizes[d], 1), INT64_MAX / 4);
  }
  return made;
}

void Composition::tensor(const std::string &name, std::vector<int64_t> sizes, int32_t bytes) {
  tensors[name] = {std::move(sizes), bytes};
}

bool Composition::isOpen(char letter) const {
  return std::any_of(open.begin(), open.end(), [&](const Opened &one) { return one.letter == letter; });
}

void Composition::begin(char letter, int64_t start, int64_t count, bool isBackwards) {
  const Index loop = count == 1 ? kNone : sequence.begin(std::string(1, letter), count);
  open.push_back({letter, loop, isBackwards ? start + count - 1 : start, isBackwards ? -1 : 1});
}

void Composition::end() {
  if (open.back().loop != kNone)
    sequence.end();
  open.pop_back();
}

/// The dimensions that loops of the part go along, with the strides that they have in the whole tensor.
ContractionTensor Composition::tensorOf(const Use &use, const std::string &letters) const {
  const Stored &stored = tensors.at(use.name);
  const std::vector<int64_t> strides = stored.strides();
  ContractionTensor made;
  made.name = use.as.empty() ? use.name : use.as, made.bytes = stored.bytes;
  int64_t before = 0; // stride of the dimension before
  for (size_t d = 0; d < use.letters.size(); ++d) {
    const size_t loop = letters.find(use.letters[d]);
    if (loop == std::string::npos)
      continue;
    const int64_t size = before ? before / strides[d] : extents.at(use.letters[d]);
    made.dimensions.push_back({{{Index(loop), 1}}, size});
    before = strides[d];
  }
  if (before > 1)
    made.dimensions.push_back({{}, before});
  return made;
}

KernelSequence::Place Composition::placeOf(const Use &use) {
  const Stored &stored = tensors.at(use.name);
  const std::vector<int64_t> strides = stored.strides();
  KernelSequence::Place place{sequence.tensor(use.name, stored.bytes), use.offset, {}};
  for (const Opened &one : open)
    for (size_t d = 0; d < use.letters.size(); ++d)
      if (use.letters[d] == one.letter) {
        place.offset += one.start * strides[d];
        if (one.loop != kNone)
          place.strides.push_back({one.loop, one.step * strides[d]});
      }
  return place;
}

void Composition::append(Result<LoopKernel> part, const std::vector<KernelSequence::Place> &places) {
  if (part)
    sequence.append(*part, places);
  else if (!failed)
    failed = part.takeError();
}

void Composition::product(const Use &result, const Use &first, const Use &second, bool accumulates,
                          const std::optional<Use> &initial) {
  std::string letters;
  for (const std::string &some : {result.letters, first.letters, second.letters})
    for (char letter : some)
      if (letter != '.' && !isOpen(letter) && letters.find(letter) == std::string::npos)
        letters += letter;
  Contraction made;
  made.name = result.name, made.accumulates = accumulates;
  for (char letter : letters)
    made.loops.push_back(
        {std::string(1, letter), extents.at(letter), result.letters.find(letter) == std::string::npos});
  // Loops of one iteration, so that every product has rows, columns and a depth.
  const Index rows = Index(made.loops.size());
  made.loops.insert(made.loops.end(), {{"rows", 1, false}, {"columns", 1, false}, {"depth", 1, true}});
  auto tensor = [&](const Use &use, Index one, Index other) {
    ContractionTensor to = tensorOf(use, letters);
    to.dimensions.push_back({{{one, 1}}, 1}), to.dimensions.push_back({{{other, 1}}, 1});
    return to;
  };
  made.first = tensor(first, rows, rows + 2);
  made.second = tensor(second, rows + 2, rows + 1);
  made.result = tensor(result, rows, rows + 1);
  std::vector<KernelSequence::Place> places = {placeOf(first), placeOf(second), placeOf(result)};
  if (initial)
    made.initial = tensor(*initial, rows, rows + 1), places.push_back(placeOf(*initial));
  append(contractionKernel(made, plainSchedule(made, machine, false)), places);
}

void Composition::rows(const std::string &outer, const std::string &row, const std::vector<Use> &uses,
                       std::vector<RowPass> passes, bool inOrder) {
  RowOperation made;
  made.inOrder = inOrder, made.passes = std::move(passes);
  std::string letters;
  for (char letter : outer + row)
    if (!isOpen(letter))
      letters += letter, made.loops.push_back({std::string(1, letter), extents.at(letter), false});
  for (char letter : outer)
    made.outer += !isOpen(letter);
  std::vector<KernelSequence::Place> places;
  for (const Use &use : uses)
    made.tensors.push_back(tensorOf(use, letters)), places.push_back(placeOf(use));
  made.name = uses.empty() ? "rows" : uses.back().name;
  append(rowKernel(made, plainRowSchedule(made, machine)), places);
}

void Composition::add(const RowOperation &operation) {
  const RowSchedule schedule = plainRowSchedule(operation, machine);
  std::vector<KernelSequence::Place> places;
  for (const ContractionTensor &tensor : operation.tensors)
    places.push_back({sequence.tensor(tensor.name, tensor.bytes), 0, {}});
  append(rowKernel(operation, schedule), places);
}

void Composition::fill(const Use &to, const std::string &formula, const std::vector<Use> &from, bool inOrder) {
  std::string letters;
  for (char letter : to.letters)
    if (letter != '.')
      letters += letter;
  std::vector<Use> uses = from;
  uses.push_back(to);
  const std::string target = to.as.empty() ? to.name : to.as;
  rows("", letters, uses, {{true, {{RowStatement::Kind::Store, target, formula}}}}, inOrder);
}

Result<LoopKernel> Composition::finish() {
  if (failed)
    return std::move(*failed);
  return sequence.finish();
}

} // namespace accord::microarchitecture
