// Price lists of clouds: tables with the columns of SkyPilot's catalogues, a row for each instance type and region.
#pragma once
#include "lib/offers/problem/Offers.h"
#include <string_view>

namespace accord::offers {

struct PriceList {
  std::vector<InstanceOffer> offers; ///< rows with accelerators, in their order
  int64_t withoutDevices = 0;        ///< rows of instances that have no accelerator, which are left out
  int64_t withoutHost = 0;           ///< offers without InstanceType, whose price is that of the accelerators alone
  int64_t withoutPrice = 0;          ///< rows with neither price, which are left out
};

/// Reads columns InstanceType, AcceleratorName and AcceleratorCount, and at least one of Price and SpotPrice; Region,
/// vCPUs, MemoryGiB, GpuInfo, AcceleratorMemoryMiB, Provider, Available (instances that there are) and InterruptionRate
/// (of a spot instance, in an hour) where they are there. Columns are in any order; others are passed over. Prices are
/// dollars an hour of a whole instance; an empty one is not sold. Without Provider, the file's name is the provider:
/// "aws" of "aws/vms.csv" and of "aws.csv". Errors are A1109 with line and column; those of quotes are A0460. At most
/// 20 are returned.
Result<PriceList, Errors> readPriceList(std::string_view text, const std::string &path);

} // namespace accord::offers
