// The document of `accord schedule --json`, and what it has in common with that of `accord partition --json`.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SearchStatus.h"

namespace accord {

/// Seconds, or the whole periods of a project.
struct DocumentTime {
  double seconds = 0;
  std::optional<int64_t> periods;
};

/// How good an answer is, and what stands in its way.
struct AnswerDocument {
  struct Obstacle {
    std::string constraint, file;
    int64_t line = 0;
    std::optional<std::string> detail;
    int64_t minMemory = 0;
  };
  std::string name; ///< of the project, of the graph, or of the training and its machine
  SearchStatus status = SearchStatus::Feasible;
  size_t objective = 0; ///< of those of the command
  DocumentTime value, bound;
  std::string proof; ///< of the bound; empty: there is none
  double gap = 0;
  std::vector<Obstacle> conflicts;
  std::string stopped;
};
void describeAnswer(JsonFields &f, AnswerDocument &answer, llvm::StringLiteral command,
                    llvm::ArrayRef<llvm::StringRef> objectives, llvm::ArrayRef<llvm::StringRef> units);

struct ScheduleDocument : AnswerDocument {
  struct Usage {
    std::string resource;
    int64_t amount = 0;
  };
  struct Slot {
    std::string operation;
    std::optional<std::string> region, core, mode, repeats;
    DocumentTime start, duration;
    std::vector<Usage> uses;
    bool critical = false;
  };
  struct Region {
    std::string name;
    int64_t count = 1;
    double length = 0;   ///< seconds, to the start of the next
    double overhang = 0; ///< seconds that one goes on after that
  };
  std::vector<Slot> slots;
  std::vector<Region> regions;  ///< of a training
  std::vector<Usage> resources; ///< of a project, with their capacities
  std::optional<int64_t> work;
};
void describe(JsonFields &f, ScheduleDocument &document);
llvm::json::Value scheduleSchema();

/// The page of what `accord schedule --json` prints.
std::string scheduleReport(const llvm::json::Value &document);

} // namespace accord
