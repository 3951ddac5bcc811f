// A choice of sparsity patterns.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/sparsity/output/DataflowJson.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/sparsity/verify/Dataflow.h"
#include "lib/sparsity/verify/ReportedSelectionChecker.h"
#include <fmt/format.h>

namespace accord {
namespace {

std::optional<Verification> verifySparsity(const std::string &path, bool json) {
  auto answer = readResultFile(path, kSparsityFile, json, "verify");
  if (!answer)
    return std::nullopt;
  const auto &[file, document] = *answer;
  auto wrong = [&](const std::string &message) {
    refuse(Code::BadPlan, message, json, "verify");
    return std::nullopt;
  };
  SelectionProof proof;
  llvm::json::Path::Root root("prune");
  const llvm::json::Value *pipeline = document.getAsObject() ? document.getAsObject()->get("pipeline") : nullptr;
  bool read = false;
  std::string unfit;
  if (pipeline) {
    DataflowProblem problem;
    DataflowResult result;
    read = readDataflow(*pipeline, problem, result, llvm::json::Path(root).field("pipeline"));
    unfit = read ? check(problem) : "";
    if (read && unfit.empty())
      proof = verify(problem, result);
  } else {
    SelectionProblem problem;
    SelectionResult result;
    read = readSelection(document, problem, result, root);
    unfit = read ? check(problem) : "";
    ReportedSelection shown;
    read = read && readReportedSelection(document, shown, root);
    if (read && unfit.empty()) {
      proof = verify(problem, result);
      Errors found = verify(problem, result, shown);
      if (found.empty())
        proof.checked.push_back("what is shown of layers, options and the step is what was chosen");
      proof.findings.insert(proof.findings.end(), found.begin(), found.end());
    }
  }
  if (!read)
    return wrong(fmt::format("{}: {}", file, llvm::toString(root.getError())));
  if (!unfit.empty())
    return wrong(fmt::format("{}: {}", file, unfit));
  Verification verification;
  verification.findings = std::move(proof.findings);
  verification.checked = std::move(proof.checked);
  verification.trusted = std::move(proof.trusted);
  verification.trusted.push_back("times, energies, bytes and losses of the options, as the cost model and the "
                                 "measurements gave them");
  if (const llvm::json::Object *all = document.getAsObject(); all && all->get("accuracy"))
    verification.trusted.push_back("what is said of accuracy, as the measurements showed it");
  if (pipeline)
    verification.trusted.push_back("what is stated of stages: their cycles, what limits them, and why");
  return verification;
}

class SparsityCertificateKind : public CertificateKind {
  const char *subject() const override { return "choice"; }
  bool matches(const std::string &path) const override { return hasResultFile(path, kSparsityFile); }
  std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const override {
    auto proof = verifySparsity(request.path, request.json);
    return proof ? std::optional(VerifiedCertificate{std::move(*proof)}) : std::nullopt;
  }
};

} // namespace

std::unique_ptr<CertificateKind> sparsityCertificate() { return std::make_unique<SparsityCertificateKind>(); }

} // namespace accord
