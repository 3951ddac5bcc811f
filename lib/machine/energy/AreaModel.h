// The area of a chip from what is on it.
#pragma once
#include "lib/machine/energy/Table.h"
#include "lib/machine/model/Machine.h"
#include <map>

namespace accord {

/// `area { mac, lane, sram, fixed }`: square metres, sram per byte.
struct AreaRates {
  double mac = 0, lane = 0, sram = 0, fixed = 0;
};
/// fixed + mac * multiply-accumulate units of all arrays + lane * all lanes + sram * bytes of all
/// memories that are no dram.
SquareMetres areaOfParts(const Machine &machine, const AreaRates &rates);

/// The closed form of lib/catalog/area_45nm.csv: sum over tensor cores of elements * w d + memory
/// of max(1, w d / 64) KiB, over vector cores of elements * w + memory of max(1, w / 64) KiB, and
/// the buffer. Only tabulated sizes have an area; between two of them nothing is interpolated.
class AreaModel {
public:
  /// Issues as for `Table`; A0305 for an unknown part, A0103 for one that is missing.
  static Result<AreaModel> read(std::string_view text, const std::string &file);
  /// By name, "catalog/area_45nm"; null when the catalogue has no such model.
  static const AreaModel *shipped(std::string_view name);

  /// Error A0483, without a place, for a size that is not tabulated.
  Result<SquareMetres> tensorCore(int64_t width, int64_t depth) const;
  Result<SquareMetres> vectorCore(int64_t width) const;
  Result<SquareMetres> buffer(Bytes capacity) const;
  /// All cores (each states its array or lanes), and the scratchpads and caches together as the
  /// buffer; device memory has no area.
  Result<SquareMetres> area(const Machine &machine) const;

private:
  double tensorElement = 0, vectorElement = 0;
  std::map<double, double> coreMemories, buffers; ///< bytes -> square metres
};

} // namespace accord
