// What a layer takes of a device with stated memories, and that no layout is faster: counted again, apart from what
// made the layout.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"

namespace accord::proof {

/// Cycles of an image; of zeros that were measured by channel, those of the stream with the most.
DataflowCycles cyclesOf(const DataflowLayer &layer, const DataflowFolding &folding, const DataflowSparsity *sparsity);
/// Multipliers, memories, look-up tables and transfers.
FabricUse useOf(const DataflowLayer &layer, const DataflowFolding &folding, bool skipsZeros,
                const DataflowMemory &memory, const DataflowFabric &fabric);
/// Whether the layer can be folded, and its weights placed, so.
bool isWay(const DataflowLayer &layer, const DataflowFolding &folding, bool skipsZeros, const DataflowMemory &memory,
           const FabricResources &resources);
/// Bits of the first layer's input and the last one's result.
int64_t imageBits(const DataflowProblem &problem);

enum class FabricVerdict : uint8_t { Excluded, Possible, Unknown };
/// Whether all layouts have an interval of at least `max` cycles. `Unknown`: `effort` partial layouts did not suffice.
FabricVerdict excludeBelow(const DataflowProblem &problem, double max, uint64_t effort);

} // namespace accord::proof
