#include "lib/sparsity/output/Sparsity.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readPrune(std::string_view input) {
  readAndWrite(
      input,
      [](llvm::StringRef text, llvm::StringRef path) {
        return readJsonDocument<SparsityPlan>(text, path, "prune", readSparsity);
      },
      [](const SparsityPlan &plan) { return toJson(plan); });
}
