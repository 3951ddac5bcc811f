// The block diagram of a core, as a picture.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"

namespace accord::microarchitecture {

/// An SVG of fetch, stages with their units, register files, memories and caches, and the edges between them; copies in
/// an array are one block with a square for each. With a timing of this machine each unit and memory has its
/// utilization as text and as colour, a cache its hit rate, and the bottleneck is marked. It has its own style, for a
/// light and a dark background, and stands in a page or alone. Names may be anything. The same input gives the same
/// bytes.
std::string blockDiagram(const Microarchitecture &machine, const InstructionTiming *timing = nullptr);

} // namespace accord::microarchitecture
