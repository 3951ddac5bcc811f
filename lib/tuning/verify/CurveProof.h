// Proves again what a learning curve comes to, with code of its own (the model is that of problem/CurveModel.h).
#pragma once
#include <cstdint>
#include <vector>

namespace accord::tuning {

/// The probability that the value after `unit` is better than `best`, of a training that said `values` so far. `last`
/// is what each training said last, which tells how much they differ. The values are taken into account one after the
/// other, each by Schur's complement; Student's distribution is summed up by Simpson's rule.
double probabilityToBeat(const std::vector<double> &values, int64_t unit, std::vector<double> last, double best,
                         bool maximizes);

} // namespace accord::tuning
