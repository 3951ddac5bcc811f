// What layers of stated placement problems cost, found again.
#pragma once
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/machine/cost/PriceCache.h"

namespace accord {

/// What a step of a cluster exchanges, which has given seconds on the network: these, or longer if
/// it takes longer to read and write what goes over it.
void priceExchanges(const WorkGraph &graph, const Machine &machine, Costs &costs);

/// The first cost, layer or edge of a stated problem of the job's cluster that does not follow from
/// the work of its steps as Accord schedules it without search, priced on this machine: by the code
/// of `accord compile`, as the prices are by the cost model. Empty: none. `structures` keeps what
/// operations of undivided steps take.
std::string differsByScheduling(const CertificateCluster &cluster, size_t job, const PlacementProblem &stated,
                                const Machine &machine, const CertificatePrices &prices, PriceCache &structures);

} // namespace accord
