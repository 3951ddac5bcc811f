// Several kernels as one: one behind the other, and inside of loops around them.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"
#include "lib/support/Result.h"

namespace accord::microarchitecture {

/// Writes one kernel from the front to the back, as parts that have tensors in common. Each part has a register of its
/// own for the address of each of its tensors; those that move alike in one tensor of the sequence share it.
class KernelSequence {
public:
  explicit KernelSequence(std::string name) { kernel.name = std::move(name); }

  /// Where a tensor of a part lies: in a tensor of the sequence, from element `offset` on, and `strides` elements
  /// further with each iteration of loops of the sequence.
  struct Place {
    Index tensor = kNone;
    int64_t offset = 0;
    std::vector<std::pair<Index, int64_t>> strides;
  };

  /// The tensor of this name, which is made where there is none yet. All its users agree on the bytes of an element.
  Index tensor(const std::string &name, int32_t bytes);
  /// What is appended until `end` is executed `count` times.
  Index begin(const std::string &name, int64_t count);
  void end();
  /// `places`: by tensor of the part; buffers of parts stand behind them, and parts share these; those of tensors that
  /// lie within others follow from these. A tensor of the sequence has as many elements as its parts reach.
  void append(const LoopKernel &part, std::vector<Place> places);
  void assume(const std::string &words);
  /// Refused (A1308): a tensor with more than 2^46 elements, an offset before its begin.
  Result<LoopKernel> finish();

private:
  KernelBody &body() { return open.empty() ? kernel.body : kernel.loops[open.back()].body; }
  /// Where what a part names is in the sequence.
  struct Shift {
    Index loops = 0, values = 0;
    std::vector<Index> tensors;   ///< by tensor of the part
    std::vector<int64_t> offsets; ///< elements behind the begin of that
  };
  KernelBody shifted(KernelBody from, const Shift &shift, const std::vector<Place> &places) const;
  /// The tensors of a part, of which one may stand for several.
  void place(const LoopKernel &part, const std::vector<Place> &places, Shift &shift);
  /// The first buffer from tensor `from` on that a part may use for one of its own; parts share them.
  Index buffer(const KernelTensor &like, size_t &from);

  LoopKernel kernel;
  std::vector<Index> open;
  bool isTooLarge = false;
};

} // namespace accord::microarchitecture
