// Closed forms of one scenario.
#include "lib/run/solve/RunEstimator.h"
#include <algorithm>
#include <cmath>

namespace accord {

double RunScenario::failures() const { return segments() * std::expm1(rate * segment()); }

double RunScenario::failureVariance() const { return failures() * std::exp(rate * segment()); }

double RunScenario::interruptionExcess() const {
  // n failures and a geometric number of mean q after each: n (1 + q)^2 e^x + n q (1 + q) - n (1 + q).
  double q = rate * outage;
  return failures() * (1 + q) * ((1 + q) * std::expm1(rate * segment()) + 2 * q);
}

double RunScenario::lost() const {
  double x = rate * segment();
  // s (1/x - 1/(e^x - 1)), by its series where both terms nearly cancel.
  return segment() * (x < 1e-4 ? 0.5 - x / 12 : 1 / x - 1 / std::expm1(x));
}

double RunScenario::lostVariance() const {
  double x = rate * segment(), s = segment();
  if (x < 1e-2)
    return s * s * (1.0 / 12 - x * x / 240);
  double half = 2 * std::sinh(x / 2); // e^x / (e^x - 1)^2 = 1 / half^2
  return s * s * std::max(0.0, 1 / (x * x) - 1 / (half * half));
}

double RunScenario::time() const { return segments() * segment() + failures() * (redone() + outage + wait); }

double youngInterval(double w, double rate) { return std::sqrt(2 * w / rate); }

double dalyInterval(double w, double rate) {
  double m = 1 / rate;
  if (w >= 2 * m)
    return m;
  double root = std::sqrt(w / (2 * m));
  return std::sqrt(2 * w * m) * (1 + root / 3 + w / (18 * m)) - w;
}

double bestInterval(double w, double rate) {
  // With y = rate x: (1 - y) e^(y + rate w) - 1 falls from e^(rate w) - 1 at 0 to -1 at 1.
  double low = 0, high = 1, b = rate * w;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    double y = (low + high) / 2;
    (std::log1p(-y) + y + b > 0 ? low : high) = y;
  }
  return (low + high) / 2 / rate;
}

double erlangB(int64_t servers, double load) {
  double blocked = 1;
  for (int64_t n = 1; n <= servers && blocked > 1e-300; ++n)
    blocked = load * blocked / (static_cast<double>(n) + load * blocked);
  return blocked;
}

double repairWait(int64_t spares, double rate, double share, double repair) {
  if (spares < 0)
    return 0;
  return share * erlangB(spares, rate * share * repair) * repair / static_cast<double>(spares + 1);
}

} // namespace accord
