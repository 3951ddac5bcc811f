#include "lib/microarchitecture/mapping/KernelSequence.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 46;

} // namespace

Index KernelSequence::tensor(const std::string &name, int32_t bytes) {
  for (size_t t = 0; t < kernel.tensors.size(); ++t)
    if (kernel.tensors[t].within == kNone && kernel.tensors[t].name == name)
      return Index(t);
  kernel.tensors.push_back({name, 0, bytes});
  return Index(kernel.tensors.size()) - 1;
}

Index KernelSequence::begin(const std::string &name, int64_t count) {
  kernel.loops.push_back({name, count, {}});
  open.push_back(Index(kernel.loops.size()) - 1);
  return open.back();
}

void KernelSequence::end() {
  KernelStep step;
  step.loop = open.back();
  open.pop_back();
  body().push_back(std::move(step));
}

KernelBody KernelSequence::shifted(KernelBody from, Index loops, Index values, Index tensors,
                                   const std::vector<Place> &places) const {
  for (KernelStep &step : from) {
    if (step.loop != kNone)
      step.loop += loops;
    if (step.result != kNone)
      step.result += values;
    for (Index &argument : step.arguments)
      argument += values;
    if (step.access.tensor == kNone)
      continue;
    for (auto &[loop, stride] : step.access.strides)
      loop += loops;
    const Place &place = places[step.access.tensor];
    step.access.strides.insert(step.access.strides.end(), place.strides.begin(), place.strides.end());
    step.access.tensor += tensors;
  }
  return from;
}

void KernelSequence::append(const LoopKernel &part, const std::vector<Place> &places) {
  const Index loops = Index(kernel.loops.size()), values = Index(kernel.valueBits.size());
  const Index tensors = Index(kernel.tensors.size());
  for (size_t t = 0; t < part.tensors.size(); ++t) {
    KernelTensor made = part.tensors[t];
    made.within = places[t].tensor, made.offset = places[t].offset;
    // What the loops around reach, forwards and backwards.
    __int128 low = made.offset, high = __int128(made.offset) + made.elements;
    for (auto [loop, stride] : places[t].strides)
      (stride < 0 ? low : high) += __int128(stride) * std::max<int64_t>(kernel.loops[loop].count - 1, 0);
    isTooLarge |= low < 0 || high > kMaxElements;
    KernelTensor &whole = kernel.tensors[made.within];
    made.bytes = whole.bytes;
    whole.elements = std::max(whole.elements, int64_t(std::min<__int128>(high, kMaxElements)));
    kernel.tensors.push_back(std::move(made));
  }
  kernel.valueBits.insert(kernel.valueBits.end(), part.valueBits.begin(), part.valueBits.end());
  for (const KernelLoop &loop : part.loops)
    kernel.loops.push_back({loop.name, loop.count, shifted(loop.body, loops, values, tensors, places)});
  KernelBody made = shifted(part.body, loops, values, tensors, places);
  body().insert(body().end(), made.begin(), made.end());
  for (const std::string &words : part.assumptions)
    assume(words);
}

void KernelSequence::assume(const std::string &words) {
  if (std::find(kernel.assumptions.begin(), kernel.assumptions.end(), words) == kernel.assumptions.end())
    kernel.assumptions.push_back(words);
}

Result<LoopKernel> KernelSequence::finish() {
  if (isTooLarge)
    return Error{
        Code::NotMapped,
        fmt::format("'{}': a tensor of a part has more than 2^46 elements, or lies before its place", kernel.name),
        {}};
  return std::move(kernel);
}

} // namespace accord::microarchitecture
