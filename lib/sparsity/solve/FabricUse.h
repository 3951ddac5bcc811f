// What a layer takes of a device that runs layers side by side: multipliers, memories on the chip, look-up tables, and
// what it moves to and from the memory beside the chip.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"

namespace accord {

/// A memory that is read and written `width` bits at once, `depth` times.
struct RamShape {
  int64_t width = 0, depth = 0;
};
/// Block RAMs of 18 Kibit: the fewest over all shapes that one can have, 1 x 16,384, 2 x 8,192, 4 x 4,096, 9 x 2,048,
/// 18 x 1,024, 36 x 512 (AMD UG573), of ceil(width / w) * ceil(depth / d).
int64_t blockRamsOf(const RamShape &shape);
/// UltraRAMs: ceil(width / 72) * ceil(depth / 4,096) (AMD UG573).
int64_t ultraRamsOf(const RamShape &shape);
/// Whether look-up tables hold it, each 32 bits (AMD UG574): of at most 1,024 bits, or at most 32 deep (as
/// fpgaConvNet's tools take it).
bool liesInTables(const RamShape &shape);

/// The ways to place a layer's weights and buffers on this device: on the chip, or streamed in 1, 2, 4, … passes over
/// the rows of the result, or for each position; in block RAM or, where there is some, UltraRAM; what goes around it on
/// the chip or beside it.
std::vector<DataflowMemory> memoryChoices(const DataflowLayer &layer, const FabricResources &resources);

/// With n = g * in * out engines, a = bits of a sum: weight bits + activation bits + ceil(log2(products of a sum)).
/// Memories, of which each is in look-up tables (`liesInTables`), block RAM or UltraRAM:
/// - weights: n * fine weights wide; where zeros are skipped n * window, since which are used is known only then.
///   Streamed: two sets of n * window weights;
/// - lines: (kernel rows - 1) rows of the input, and (kernel columns - 1) columns of the window, each channel's;
///   streamed for rows: the rows that one pass reads, and those that the next one will (at most two images);
/// - sums over channels in turn: of each filter in turn; streamed for rows: of each result of a pass;
/// - streamed for rows: two passes' results, where filters come in turn, since what follows reads them position by
///   position;
/// - detours: what waits is as long as the rows that the layer holds, as many words at once as come while the layer's
///   own input does; the whole image where the layer reads one value of each channel (a gate), 72 bits at once.
/// Look-up tables beside those: a bit each of the sums over `in` channels, and of the pieces of a product (a carry
/// chain adds one bit in a table); a FIFO of 32 words of each stream; where zeros are skipped, for each multiplier a
/// choice among the window of both operands (4 to 1 in a table, AMD UG574) and of the next product that is not zero.
/// Off the chip: streamed weights, `passes` times (as AutoWS: Yu and Bouganis, DAC 2024), and what is evicted, there
/// and back (as SMOF: Toupas et al., 2024). Weights are stored with their zeros. Routing, control, pooling and what is
/// between products are left out.
FabricUse useOf(const DataflowLayer &layer, const DataflowFolding &folding, bool skipsZeros,
                const DataflowMemory &memory, const DataflowFabric &fabric);

/// Bits of an image and of its result, which are moved whatever is chosen.
int64_t imageBits(const DataflowProblem &problem);

} // namespace accord
