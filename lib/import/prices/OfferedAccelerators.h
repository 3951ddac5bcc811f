// What price lists call an accelerator, and which cluster of the catalogue describes it.
#pragma once
#include "lib/offers/problem/Offers.h"
#include <string_view>

namespace accord::offers {

struct OfferedAccelerator {
  std::string name;  ///< as lists write it; one '*' stands for a number of the units that `devicesPerUnit` counts
  double memory = 0; ///< bytes of a device, about; 0: any
  double devicesPerUnit = 1;
  std::string cluster; ///< of the catalogue
};

/// Reads a table with the columns name, memory_gib, devices_per_unit and cluster (catalog/offered-accelerators.csv).
/// Errors are A1109.
Result<std::vector<OfferedAccelerator>, Errors> readOfferedAccelerators(std::string_view text, const std::string &path);

struct AcceleratorMatch {
  std::string cluster;
  double devices = 1;   ///< of one instance, in devices of that cluster
  bool isSlice = false; ///< an instance is a slice of a larger network, which others do not join
};
/// The first row with the offer's name, in either case, whose memory is stated as within 15 % of the offer's, or is not
/// stated by one of them.
std::optional<AcceleratorMatch> matchAccelerator(const std::vector<OfferedAccelerator> &known,
                                                 const InstanceOffer &offer);

} // namespace accord::offers
