// Zeros as plain data, three things that do not follow from each other: which elements of a tensor
// are zero, how those that are not are stored, and what a core makes of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// Which elements of a tensor are zero: a fact about values, whatever is stored.
struct SparsityPattern {
  enum class Kind : uint8_t {
    Dense,
    Unstructured, ///< `density` of the elements, anywhere
    Structured,   ///< `kept` of every `of` neighbours along `along` (N:M)
    Block,        ///< whole blocks of `blockRows` x `blockColumns`
    Banded,       ///< those at most `band` from the diagonal
    Histogram,    ///< shares of windows of `window` elements by how many are zero
    Mask          ///< read from a file: `mask`
  };
  Kind kind = Kind::Dense;
  double density = 1; ///< share of elements that are not zero; 0 to 1
  /// Independent draws with `density`, or exactly that share of each tensor (hypergeometric tiles).
  bool independent = false;
  int64_t kept = 1, of = 1;
  enum class Along : uint8_t { Reduction, Output } along = Along::Reduction;
  bool transposable = false; ///< N:M along both dimensions
  int64_t blockRows = 1, blockColumns = 1;
  int64_t band = 0;
  int64_t window = 0;
  std::vector<double> histogram;       ///< `window` + 1 shares, of 0 to `window` zeros; their sum is 1
  std::vector<std::vector<bool>> mask; ///< by row; true: not zero
  bool dynamic = false;                ///< other elements in each step: a mask that must be found and sent anew
};

/// How what is not zero is stored: levels as in MLIR's `#sparse_tensor` encodings.
struct SparseFormat {
  enum class Kind : uint8_t { Dense, Bitmask, Coordinates, Structured, Rows, RunLength };
  Kind kind = Kind::Dense;
  int64_t kept = 1, of = 1;    ///< of `Structured`
  int64_t coordinateBits = 16; ///< of `Coordinates`; of a run in `RunLength`
  int64_t pointerBits = 32;    ///< of `Rows` (CSR), one more than there are rows
  int64_t blockRows = 1, blockColumns = 1;
};

enum class GemmOperand : uint8_t { Weights, Activations, Gradients }; ///< W, X, dY
/// What a core makes of an operand's zeros.
struct SparseAcceleration {
  /// Gate: no energy for the arithmetic. Skip: no cycle either. Compress: only what is not zero is moved and stored.
  /// A zero that is stored can be gated, not skipped: `Skip` needs a compressed format or a mask.
  enum class Mode : uint8_t { None, Gate, Skip };
  Mode mode = Mode::None;
  bool compress = false;
  int64_t kept = 0, of = 0; ///< only N:M of at most this density; 0: any zeros
  int64_t granule = 1;      ///< neighbours along the reduction that are skipped together
};

/// Of one core.
struct SparseCore {
  SparseAcceleration stationary,
      streaming;             ///< of the operand that stays (weights of a weight-stationary array), and of the other
  int64_t tile = 1;          ///< elements of an operand among which a lane looks for work
  int64_t slots = 1;         ///< of them, computed in one cycle by a lane
  int64_t lanes = 1;         ///< that wait for the slowest of them after each tile
  double metadataBits = 0;   ///< of each element kept, besides the format's
  double setupCycles = 0;    ///< of each operation
  double gatedEnergy = 0.03; ///< share of a multiply-accumulate's energy that a gated one takes
  /// Operand words in a cycle that the memory beside the core delivers; 0: enough.
  double wordsPerCycle = 0;
};

/// Multipliers of a device that runs every layer on a part of its own, one behind the other (fpgaConvNet): `dataflow {
/// … }` of an accelerator.
struct DataflowFabric {
  int64_t multipliers = 0; ///< of `multiplierRows` x `multiplierColumns` bits, as an FPGA's DSP slices
  int64_t multiplierRows = 18, multiplierColumns = 27;
};

} // namespace accord
