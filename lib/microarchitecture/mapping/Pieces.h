// Pieces of tensors in buffers: how they lie there, and the copies that bring and fetch them.
#pragma once
#include "lib/microarchitecture/mapping/Contraction.h"

namespace accord::microarchitecture {

/// The box of positions that some iterations of the loops reach, stored densely in a buffer: its dimensions are in the
/// order in which the tensor is stored.
struct Piece {
  struct Dimension {
    std::vector<ContractionTensor::Term> terms;
    int64_t stride = 1; ///< elements between two positions in the tensor
    int64_t inside = 1; ///< and in the buffer
  };
  std::vector<Dimension> dimensions; ///< outermost first
  std::vector<int64_t> strides;      ///< by loop: elements of the buffer from one iteration to the next
  int64_t elements = 1;
};

/// `strides`: by loop, of the stored tensor. `sizes`: by loop, iterations of one piece at most. Nothing where a loop
/// moves two dimensions, or one backwards; then a piece is no box.
std::optional<Piece> pieceOf(const ContractionTensor &tensor, const std::vector<int64_t> &strides,
                             const std::vector<int64_t> &sizes);

/// Writes copies of a piece of these iterations, between the tensor (`outside`, at the first element of the piece) and
/// the buffer (`inside`); `isIn`: to the buffer. Rows that lie side by side in both are one; a copy with a tile moves
/// several rows, one with lanes one stretch.
void copyPiece(KernelBuilder &builder, const OpcodeRole &copy, const Piece &piece, const std::vector<int64_t> &sizes,
               const KernelAccess &outside, const KernelAccess &inside, bool isIn);

/// Writes copies of `count` elements one behind the other, from the buffer.
void copyStretch(KernelBuilder &builder, const OpcodeRole &copy, int64_t count, const KernelAccess &outside,
                 const KernelAccess &inside);

/// Writes the pieces of a loop that alternate between two buffers, `whole` of `all` being of full size: `fetch(piece)`
/// writes the copy of one, before `use(piece - 1)`. Piece p is in buffer p % 2. Pairs of full size that have a full one
/// behind them are one loop: what stands between `open(pairs)` and `close()`, of pieces 0 and 1.
template <class Open, class Close, class Fetch, class Use>
void alternatePieces(int64_t whole, int64_t all, Open open, Close close, Fetch fetch, Use use) {
  auto run = [&](int64_t piece) {
    if (piece + 1 < all)
      fetch(piece + 1);
    use(piece);
  };
  if (all > 0)
    fetch(0);
  const int64_t pairs = std::max<int64_t>(whole - 1, 0) / 2;
  if (pairs > 1)
    open(pairs);
  if (pairs > 0)
    run(0), run(1);
  if (pairs > 1)
    close();
  for (int64_t piece = 2 * pairs; piece < all; ++piece)
    run(piece);
}

/// Where a machine keeps tensors, and where its kernels keep pieces of them.
struct StagePlaces {
  Index home = kNone;                            ///< the largest storage, in which tensors begin
  OpcodeRole copy;                               ///< the widest copy between both
  std::array<Index, 2> buffers = {kNone, kNone}; ///< for what is loaded with this role, and stored
};
/// Whether the tokens of a machine (of the file with the most that counts) are two for each of so many buffers, and for
/// constants. True where it has none.
bool hasTokensFor(const Microarchitecture &machine, size_t buffers);
/// Nothing where all of these roles reach the home of tensors: then they need no buffers; nor where no copy or no
/// buffer is reached. `loads`: roles that load operands; `stores`: that store results (and load them again).
std::optional<StagePlaces> stagingPlaces(const Microarchitecture &machine, const std::vector<OpcodeRole> &loads,
                                         const std::vector<OpcodeRole> &stores);

} // namespace accord::microarchitecture
