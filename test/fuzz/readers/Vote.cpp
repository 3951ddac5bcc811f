#include "lib/ensembles/output/Ensemble.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readVote(std::string_view input) {
  readAndWrite(
      input,
      [](llvm::StringRef text, llvm::StringRef path) {
        return readJsonDocument<EnsemblePlan>(text, path, "vote", readEnsemble);
      },
      [](const EnsemblePlan &plan) { return toJson(plan); });
}
