// The cost models that Accord ships.
#pragma once
#include "lib/cost/CostModel.h"

namespace accord {

/// Data sheet: (flops + half_work) / (count * peak * efficiency), which is the share efficiency *
/// flops / (flops + half_work) of the peak: small operations reach less of it. `half_work` is 0
/// unless the machine states one (or a calibration fitted it).
std::unique_ptr<CostModel> makePeakModel();

/// Systolic array: flops / (count * peak * efficiency * utilization). A contraction of M x K by K x
/// N is cut into tiles of rows x cols, partial tiles cost as much as full ones: utilization = (a*b)
/// / (ceil(a/rows)*rows * ceil(b/cols)*cols) with (a, b) mapped on rows and columns = (K, N) weight
/// stationary, (M, N) output stationary, (K, M) input stationary (Samajdar et al., SCALE-Sim,
/// ISPASS 2020, table of mappings). K is the product of the reduction loops, N the last parallel
/// loop of the domain, M the product of the others.
std::unique_ptr<CostModel> makeArrayModel();

/// Lanes: flops / (count * peak * efficiency * utilization), utilization = e / (ceil(e / L) * L)
/// with e elements (the product of the parallel loops) and L = count * lanes.
std::unique_ptr<CostModel> makeVectorModel();

} // namespace accord
