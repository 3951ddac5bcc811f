// From rows to cases that can be fitted: lint, workload, profile, layout and machine of each.
#pragma once
#include "lib/machine/calibration/GraphSource.h"
#include "lib/machine/calibration/ParameterFit.h"

namespace accord::calibrate {

/// Rows made ready, and what was left out and why.
struct Prepared {
  std::vector<Case> cases;
  Errors warnings;                      ///< of rows left out: lint (A0463, A0464), no network (A0465), no
                                        ///< graph (A0466), no machine or time (A0468)
  std::vector<std::string> assumptions; ///< each once: what rows leave open
  std::map<std::string, Machine> machines;
};

class CaseBuilder {
public:
  /// `target`: the machine or cluster all rows ran on; empty: the one of the catalogue that each row's `accelerator`
  /// means.
  CaseBuilder(GraphSource &graphs, std::string target) : graphs(graphs), target(std::move(target)) {}
  /// Rows of quality C and D, memory values and timings of single layers are passed over.
  /// Micro-batches that a row does not state become candidates, of which the fastest that fits the
  /// memory counts.
  Prepared prepare(const std::vector<Row> &rows);
  /// What a row ran on; null if it is not known. Kept for later calls.
  const Cluster *hardware(const Row &row);

private:
  Result<Case> build(const Row &row);

  GraphSource &graphs;
  std::string target;
  std::map<std::string, Result<Cluster>> known; ///< by name
  Prepared out;
};

} // namespace accord::calibrate
