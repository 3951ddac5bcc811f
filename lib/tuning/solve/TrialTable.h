// Trials that were run before, as a table: a tuning of it says what a tuning of the trainings would have done.
//
// A .csv file with a row for each configuration: a column for each hyper-parameter, `seconds` (of a unit on one device;
// may be absent), and columns 1, 2, … with the value after each unit. An empty cell is a trial that ends there; "nan",
// "inf" and "-inf" are values of trainings that have diverged.
#pragma once
#include "lib/tuning/solve/Tuner.h"
#include <map>

namespace accord::tuning {

struct TrialTable {
  struct Row {
    Configuration configuration;
    CubePoint point;
    std::optional<double> seconds;
    std::vector<std::optional<double>> values; ///< by unit
  };
  std::vector<Row> rows;
  int64_t units = 0; ///< of the columns
};

/// Reads a table of the space. Errors with places: A0460 of the text, rows that are the same, a table without rows, and
/// rows that differ before a unit though what acts before it is the same; others for columns that are missing, stand
/// twice or belong to nothing, and for cells that are no value of their column.
Result<TrialTable, Errors> readTrialTable(const std::string &text, const std::string &path, const SearchSpace &space);

/// Runs rows of a table, each once: of a configuration that is proposed the nearest one in the cube.
class TableRunner final : public TrialRunner {
public:
  TableRunner(const TuningProblem &problem, const TrialTable &table)
      : problem_(problem), table_(table), isUsed_(table.rows.size()) {
    for (size_t row = 0; row < table.rows.size(); ++row) {
      rows_.emplace(table.rows[row].configuration, row);
      rows_.emplace(fromCube(problem.space, table.rows[row].point), row); // rounded, as candidates come back
    }
  }
  std::optional<Configuration> accept(Configuration proposed) override { return acceptBranch(std::move(proposed), 0); }
  std::optional<Configuration> acceptBranch(Configuration proposed, int64_t unit) override;
  std::vector<CubePoint> candidates() override;
  /// Those of the row, or of what is not in the table those of the row that would be run.
  std::optional<double> unitSeconds(const Configuration &configuration) override;
  Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t unit) override;

private:
  /// Of those that have the same values of what acts before a unit; 0: of all.
  std::optional<size_t> nearestRow(const Configuration &configuration, int64_t unit = 0) const;

  const TuningProblem &problem_;
  const TrialTable &table_;
  std::map<Configuration, size_t> rows_;
  std::vector<bool> isUsed_;
  std::vector<size_t> rowOf_; ///< by trial
};

} // namespace accord::tuning
