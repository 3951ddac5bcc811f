// Numbers of offers in words.
#pragma once
#include "lib/offers/problem/Offers.h"

namespace accord::offers {

/// "2.61 d", "35.2 h", "12.4 min" or "82 s".
std::string durationText(double seconds);
/// "1,234.50 USD"
std::string dollarsText(double dollars);
/// "312 kWh" or "1.2 MWh"
std::string energyText(double joules);
/// "42 kg" or "1.3 t"
std::string carbonText(double grams);
/// Of the objective.
std::string valueText(OfferObjective objective, double value);
/// "nebius gpu-h100-sxm_8gpu eu-north1"
std::string offerName(const InstanceOffer &offer);

} // namespace accord::offers
