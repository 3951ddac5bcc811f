#include "lib/microarchitecture/mapping/KernelSequence.h"
#include <fmt/format.h>

namespace accord::microarchitecture {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 46;

/// By loop: elements that all accesses in it move by in an iteration.
struct Motion {
  std::map<Index, int64_t> strides;
  bool isOne = true; ///< all agree
};

/// By tensor.
std::vector<Motion> motionsOf(const LoopKernel &kernel) {
  std::vector<Motion> made(kernel.tensors.size());
  std::vector<Index> around;
  auto walk = [&](auto &self, const KernelBody &body) -> void {
    for (const KernelStep &step : body) {
      if (step.loop != kNone) {
        around.push_back(step.loop);
        self(self, kernel.loops[step.loop].body);
        around.pop_back();
      } else if (step.access.tensor != kNone && step.target.tensor == kNone) {
        Motion &motion = made[step.access.tensor];
        for (Index loop : around) {
          int64_t moved = 0;
          for (auto [of, stride] : step.access.strides)
            moved += of == loop ? stride : 0;
          motion.isOne &= motion.strides.try_emplace(loop, moved).first->second == moved;
        }
      }
    }
  };
  walk(walk, kernel.body);
  return made;
}

bool agree(const Motion &a, const Motion &b) {
  if (!a.isOne || !b.isOne)
    return false;
  for (auto [loop, stride] : a.strides)
    if (auto at = b.strides.find(loop); at != b.strides.end() && at->second != stride)
      return false;
  return true;
}

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

KernelBody KernelSequence::shifted(KernelBody from, const Shift &shift, const std::vector<Place> &places) const {
  for (KernelStep &step : from) {
    if (step.loop != kNone)
      step.loop += shift.loops;
    if (step.result != kNone)
      step.result += shift.values;
    for (Index &argument : step.arguments)
      argument += shift.values;
    for (KernelAccess *access : {&step.access, &step.target}) {
      if (access->tensor == kNone)
        continue;
      for (auto &[loop, stride] : access->strides)
        loop += shift.loops;
      const Place &place = places[access->tensor]; // of buffers: none, which nothing moves
      access->strides.insert(access->strides.end(), place.strides.begin(), place.strides.end());
      access->offset += shift.offsets[access->tensor];
      access->tensor = shift.tensors[access->tensor];
    }
  }
  return from;
}

void KernelSequence::place(const LoopKernel &part, const std::vector<Place> &places, Shift &shift) {
  std::vector<Motion> motions = motionsOf(part);
  std::map<std::pair<Index, int32_t>, size_t> passed; // by storage and bytes of an element: buffers of the sequence
  for (size_t t = 0; t < part.tensors.size(); ++t) {
    if (part.tensors[t].storage != kNone) {
      shift.tensors.push_back(buffer(part.tensors[t], passed[{part.tensors[t].storage, part.tensors[t].bytes}]));
      shift.offsets.push_back(0);
      continue;
    }
    const Place &at = places[t];
    // What the loops around reach, forwards and backwards.
    __int128 low = at.offset, high = __int128(at.offset) + part.tensors[t].elements;
    for (auto [loop, stride] : at.strides)
      (stride < 0 ? low : high) += __int128(stride) * std::max<int64_t>(kernel.loops[loop].count - 1, 0);
    isTooLarge |= low < 0 || high > kMaxElements;
    KernelTensor &whole = kernel.tensors[at.tensor];
    whole.elements = std::max(whole.elements, int64_t(std::min<__int128>(high, kMaxElements)));
    size_t like = 0;
    while (like < t && (places[like].tensor != at.tensor || places[like].strides != at.strides ||
                        !agree(motions[like], motions[t])))
      ++like;
    if (like < t) {
      motions[like].strides.insert(motions[t].strides.begin(), motions[t].strides.end());
      shift.tensors.push_back(shift.tensors[like]);
      shift.offsets.push_back(at.offset - kernel.tensors[shift.tensors[like]].offset);
      continue;
    }
    KernelTensor made = part.tensors[t];
    made.within = at.tensor, made.offset = at.offset, made.bytes = whole.bytes;
    shift.tensors.push_back(Index(kernel.tensors.size())), shift.offsets.push_back(0);
    kernel.tensors.push_back(std::move(made));
  }
}

Index KernelSequence::buffer(const KernelTensor &like, size_t &from) {
  for (; from < kernel.tensors.size(); ++from)
    if (KernelTensor &made = kernel.tensors[from]; made.storage == like.storage && made.bytes == like.bytes) {
      made.elements = std::max(made.elements, like.elements);
      return Index(from++);
    }
  kernel.tensors.push_back(like);
  return Index(from++);
}

void KernelSequence::append(const LoopKernel &part, std::vector<Place> places) {
  places.resize(part.tensors.size());
  for (size_t t = 0; t < part.tensors.size(); ++t)
    if (const KernelTensor &tensor = part.tensors[t]; tensor.within != kNone)
      places[t] = places[tensor.within], places[t].offset += tensor.offset;
  Shift shift{Index(kernel.loops.size()), Index(kernel.valueBits.size()), {}, {}};
  place(part, places, shift);
  kernel.valueBits.insert(kernel.valueBits.end(), part.valueBits.begin(), part.valueBits.end());
  for (const KernelLoop &loop : part.loops)
    kernel.loops.push_back({loop.name, loop.count, shifted(loop.body, shift, places)});
  KernelBody made = shifted(part.body, shift, places);
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
