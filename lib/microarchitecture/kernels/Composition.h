// Operations that are made of products and row operations, written with letters for their loops.
#pragma once
#include "lib/microarchitecture/mapping/KernelSequence.h"
#include "lib/microarchitecture/mapping/RowOperation.h"

namespace accord::microarchitecture {

/// Puts parts one behind the other into one kernel; what they pass on to each other goes through memory. Tensors have
/// names and sizes, and each use of one says with a letter for each dimension which loop goes along it ('.': none, the
/// position is fixed). Letters have extents; loops around several parts are opened with `begin`.
///
/// With the plain schedule of a machine with lanes or tiles, each part finds its tensors in the order that it wants
/// (`contractionKernel`, `rowLayout`); without, they are stored in the order of their dimensions, and the kernel
/// computes what the parts say.
class Composition {
public:
  Composition(const std::string &name, const Microarchitecture &machine) : sequence(name), machine(machine) {}

  void extent(char letter, int64_t extent) { extents[letter] = extent; }
  void tensor(const std::string &name, std::vector<int64_t> sizes, int32_t bytes = 4);

  struct Use {
    std::string name;
    std::string letters; ///< as many as the tensor has dimensions
    int64_t offset = 0;  ///< elements
    std::string as = {}; ///< in formulas; empty: the name
  };

  /// What is added until `end` is executed for the positions start, start + 1, … of a letter, or from the last one
  /// backwards.
  void begin(char letter, int64_t start, int64_t count, bool isBackwards = false);
  void begin(char letter) { begin(letter, 0, extents.at(letter)); }
  void end();

  /// result = (or, if it accumulates, +=) first * second, summed over all letters that the result has not; what sums
  /// begin with, if stated, is `initial`.
  void product(const Use &result, const Use &first, const Use &second, bool accumulates = false,
               const std::optional<Use> &initial = std::nullopt);
  /// For all `outer` letters, passes over the `row` letters.
  void rows(const std::string &outer, const std::string &row, const std::vector<Use> &uses, std::vector<RowPass> passes,
            bool inOrder = false);
  /// An operation whose tensors are of the composition, by name; they are declared if they are not yet.
  void add(const RowOperation &operation);
  /// A pass over a row with a single `to = formula`.
  void fill(const Use &to, const std::string &formula, const std::vector<Use> &from = {}, bool inOrder = false);
  void assume(const std::string &words) { sequence.assume(words); }

  Result<LoopKernel> finish();

private:
  struct Stored {
    std::vector<int64_t> sizes;
    int32_t bytes = 4;
    std::vector<int64_t> strides() const;
  };
  struct Opened {
    char letter = 0;
    Index loop = kNone;
    int64_t start = 0, step = 1;
  };
  bool isOpen(char letter) const;
  ContractionTensor tensorOf(const Use &use, const std::string &letters) const;
  KernelSequence::Place placeOf(const Use &use);
  void append(Result<LoopKernel> part, const std::vector<KernelSequence::Place> &places);

  KernelSequence sequence;
  const Microarchitecture &machine;
  std::map<char, int64_t> extents;
  std::map<std::string, Stored> tensors;
  std::vector<Opened> open;
  std::optional<Error> failed;
};

} // namespace accord::microarchitecture
