// Measured kernels of 2:4 products as plain data: how much faster than dense ones they were, and what masks took.
#pragma once
#include <string>
#include <vector>

namespace accord {

/// A product of rows x depth and depth x columns elements, of which the second operand keeps 2 of every 4 along the
/// depth: seconds of the library's dense kernel over those of its sparse one.
struct SparseKernelPoint {
  double rows = 0, depth = 0, columns = 0;
  double speedup = 1;
};

/// Finding the mask of so many elements and storing what it keeps; `transposable`: along both dimensions.
struct MaskKernelPoint {
  bool transposable = false;
  double elements = 0, seconds = 0;
};

/// All of one device and type, and what `fitSparseKernels` (lib/machine/operations/SparseProducts.h) makes of them.
struct SparseKernelTable {
  std::string device, type;              ///< as the table of measurements has them: "NVIDIA H200", "bf16"
  std::vector<SparseKernelPoint> points; ///< each shape once
  std::vector<MaskKernelPoint> masks;    ///< by `transposable` and ascending elements, each once
  double width = 0;                      ///< of the neighbourhood that an estimate is the mean of, in octaves
  double deviation = 0; ///< |log(estimated / measured speed-up)| that 90 % of the points that are left out keep below
  double reach = 0;     ///< octaves from a point to its nearest neighbour, at most
};

} // namespace accord
