// Tiles of a loop nest in the memories of a machine: what moves between them, how long it takes,
// and the mapping that takes the least time.
//
// Memories are numbered from the farthest (0, it holds everything) to the nearest. Memory l >= 1
// holds one tile of each tensor, and loops in some order walk over the tiles of l inside of a tile
// of l-1 (of the whole nest for l = 1). The last tile of a loop is shorter and counts what it has.
// One nest of loops comes about: those of memory 1 outside, those of the nearest memory inside.
//
// Link l carries what moves between memories l-1 and l.
//  - A tile of a tensor is fetched where the innermost iterating loop (of memories 1 to l) that
//    indexes the tensor stands: once per iteration of it and of all loops outside of it. Loops
//    inside of it reuse the tile. If none iterates, the tensor moves once.
//  - A result leaves when its tile changes. Elements that come back to be added to are read again:
//    reads = writes - first visits, element by element.
//  - A tile is told by its iterations. No two tiles share a transfer: the halo of convolution
//  windows
//    is fetched for each.
// Traffic is never below the compulsory traffic (each element once).
//
// Time of link l = latency of memory l-1 + bytes / bandwidth of memory l-1. A memory that is double buffered holds its
// tile in half of its capacity and is filled while it is used, any other before. From the core outwards, for l from the
// nearest memory to 1:
//   time = compute;  time = max(time, link l) if memory l is double buffered, else time + link l
// What moves between the nearest memory and the core is part of the caller's compute time.
//
// Sources: one roof per link, Williams, Waterman, Patterson (CACM 52(4), 2009); loop nests over
// tiles and their reuse, Parashar et al. (Timeloop, ISPASS 2019, section V); what traffic is
// possible at best, Hong and Kung (STOC 1981), Irony, Toledo, Tiskin (JPDC 64(9), 2004).
#pragma once
#include "lib/machine/tiling/Nest.h"
#include "lib/support/Units.h"
#include <functional>

namespace accord::tile {

struct Level {
  std::string name;
  Bytes capacity;           ///< of memory 0: of no account
  BytesPerSecond bandwidth; ///< 0: not stated, limits nothing
  Seconds latency;          ///< of a transfer out of this memory, once per operation
  bool doubleBuffered = false;
  /// What crosses the link into this memory besides the tiles, whatever they are.
  Bytes otherBytes = Bytes(0);
};

/// Seconds that the core takes for one tile of these extents (one per loop) in the nearest memory.
/// Finite, not negative, the same each time; cutting a tile in two never makes it less in sum (or
/// `bound` does not hold).
using ComputeOfTile = std::function<Seconds(std::span<const int64_t> extents)>;

/// Seconds that no mapping computes in less if its tiles in the nearest memory are at most these
/// extents. Not more for larger ones. An array whose fold takes K + fill cycles, for instance,
/// takes folds * (K + fill * ceil(K / k)) with depths of at most k.
using ComputeFloor = std::function<Seconds(std::span<const int64_t> extents)>;

struct SearchLimits {
  /// Tilings and ranges of tilings looked at, for all levels together. No clock: the same
  /// everywhere.
  int64_t nodes = 20000;
  /// The arithmetic takes no less, whatever the tiles: moving operands into the core may.
  Seconds minCompute = Seconds(0);
  /// Ends searches sooner where the arithmetic decides, and makes `bound` tighter there. Without it
  /// all that is known of tiles not yet decided is the compute time of the whole nest at once.
  ComputeFloor floor = {};
};

struct TensorTraffic {
  Bytes read;    ///< towards the core
  Bytes written; ///< away from it
};

/// How one memory (1 to the nearest) is used, and the link to the memory outside.
struct LevelMapping {
  std::vector<int64_t> tile;          ///< extent of a full tile, by loop
  std::vector<unsigned> order;        ///< loops around the tile, outermost first
  std::vector<int64_t> trips;         ///< tiles inside of a full tile around, by loop
  Bytes footprint;                    ///< of a full tile, once
  std::vector<TensorTraffic> tensors; ///< over the link
  Bytes bytes;                        ///< their sum
  Seconds time;                       ///< of the link
};

struct Mapping {
  std::vector<LevelMapping> levels; ///< [0] is memory 1
  Seconds compute;
  Seconds time;
  /// No mapping of the searched space takes less time.
  Seconds bound;
  double gap = 0;     ///< 1 - bound / time
  bool exact = false; ///< the search ended before its limit: least time, and of those least traffic
  int64_t nodes = 0;  ///< looked at
};

/// Tiles and order of one memory, for `price`.
struct Tiling {
  std::vector<int64_t> tile;
  std::vector<unsigned> order; ///< all loops, outermost first
};

/// What a given mapping costs; `tilings[l-1]` is of memory l. `bound` is its own time. Issues:
/// A0920 (nest or tiling malformed: a tile below 1 or larger than the one around it, an order that
/// is no permutation), A0921 (levels: none, more than 8, or a number that is negative or not
/// finite; a capacity may be infinite), A0452 (compute times that are negative or not finite),
/// A0453 (a tile does not fit).
Result<Mapping> price(const Nest &nest, std::span<const Level> levels, std::span<const Tiling> tilings,
                      const ComputeOfTile &compute, const SearchLimits &limits = {});

/// The mapping of least time; of those the one with the least bytes on link 1, then link 2 and so
/// on; of those the first one found, always the same. Searched: the extents of `candidates`
/// (LoopSplit.h) for each loop and memory, all orders (LoopOrders.h). Exact there by branch and bound if
/// the limit on nodes suffices; else the best found, starting with each level by itself from the
/// farthest, and improved by local search (LocalSearch.h), also from the best where one memory is half
/// as large. While the search is exact, more capacity, bandwidth or a faster core never give
/// more time. A0453 when not even tiles of one granule fit; the other issues as in `price`.
Result<Mapping> bestMapping(const Nest &nest, std::span<const Level> levels, const ComputeOfTile &compute,
                            const SearchLimits &limits = {});

/// One line per memory from 1: "vmem tile 256x512x128, order m n k: A 2x, B 1x, C 1x" (how often
/// each tensor passes the link, against each element once).
std::vector<std::string> describe(const Nest &nest, std::span<const Level> levels, const Mapping &mapping);

} // namespace accord::tile
