// A table of what a training does with each setting of a server, on which a tuning is simulated.
#pragma once
#include "lib/support/Result.h"
#include "lib/support/SplitMix.h"
#include "lib/tuning/solve/SafeTuner.h"

namespace accord::tuning {

/// By number of the setting.
struct ServerTable {
  std::vector<double> rates;      ///< samples per second; 0: the training dies
  std::vector<double> watts;      ///< empty: the table does not say them
  std::vector<double> deviations; ///< relative, of the rate of a window
};

/// A .csv file: a column for each parameter with values such as "250 W" or 8, `samples_per_second` (empty or 0: the
/// training dies), `watts` where the objective needs it, and `deviation` (unless stated, 0.02); a row for each setting.
/// Errors are A0461 to A0463 at the cell, as of other tables.
Result<ServerTable, Errors> readServerTable(llvm::StringRef text, const std::string &path,
                                            const ServerProblem &problem);

/// Windows with lognormal noise that is a function of the seed and the number of the interval.
class ServerTableRunner final : public ServerRunner {
public:
  /// `done`: intervals that were run before.
  ServerTableRunner(const ServerProblem &problem, const ServerTable &table, size_t done = 0)
      : problem_(problem), table_(table), interval_(done) {}
  Result<Measured> run(const Setting &setting, const Watch &watch) override;

private:
  const ServerProblem &problem_;
  const ServerTable &table_;
  size_t interval_;
};

int64_t numberOf(const std::vector<ServerParameter> &parameters, const Setting &setting);

} // namespace accord::tuning
