// Where offers come from: price lists and inventories, and which cluster describes the accelerator of each.
#pragma once
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/driver/tasks/Choose.h"
#include "lib/offers/output/OfferOutput.h"
#include "lib/offers/solve/OfferOptions.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Offers whose accelerator is known, and their pools: equal instances.
struct OfferSources {
  std::vector<offers::InstanceOffer> offers;
  std::vector<offers::PooledOffer> pooled;
  std::vector<DevicePool> pools;
  std::vector<int64_t> maxInstances; ///< of a pool; 0: as many as one wants
  std::vector<offers::LeftOutReport> leftOut;
  std::vector<std::string> assumptions;
};

/// Reads all price lists and inventories. Offers of an unknown accelerator, of a part of a device, or with an unknown
/// carbon intensity where carbon is minimized are left out and named. Nothing after errors, which go to `diags`.
std::optional<OfferSources> readOfferSources(const ChooseOptions &options, Diagnostics &diags);

} // namespace accord
