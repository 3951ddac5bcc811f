// What a tuning of a server has found, as servers.json (from which `accord verify` proves it again), .csv and text.
#pragma once
#include "lib/tuning/output/TuningOutput.h"
#include "lib/tuning/problem/ServerTuning.h"

namespace accord::tuning {

/// One strategy over the seeds of a comparison on a table.
struct ComparedServer {
  std::string name;
  SeedMean gain;         ///< of the setting that is taken at the end, by the table, less 1
  SeedMean progress;     ///< samples of all intervals over those of the baseline in the same time, less 1
  double below = 0;      ///< intervals whose setting is below the floor by the table, mean
  double failures = 0;   ///< mean
  int64_t runsBelow = 0; ///< seeds with such an interval
  double runsBelowLow = 0, runsBelowHigh = 0; ///< Clopper and Pearson's limits of their share, 95 %
};

struct ServerReport {
  enum class Status : uint8_t { Ended, Complete, Stopped, Failed } status = Status::Ended;
  ServerProblem problem;
  ServerResult result;
  std::string source; ///< the program, or the table
  std::string reason; ///< of one that failed
  std::vector<std::string> assumptions;
  int64_t seeds = 1;
  std::vector<ComparedServer> compared;
};

void describe(JsonFields &f, ServerReport &report);
/// Reads servers.json. Else what is wrong, and where (A1106).
Result<ServerReport> serversFromDocument(llvm::StringRef text, const std::string &file);
std::string serversText(const ServerReport &report, const TextStyle &style);
/// servers.json, servers.txt and intervals.csv.
AnswerFiles filesOf(const ServerReport &report);
constexpr const char *kServersFile = "servers.json";

} // namespace accord::tuning
