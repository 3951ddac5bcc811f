#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

std::vector<std::unique_ptr<CertificateKind>> &kinds() {
  static std::vector<std::unique_ptr<CertificateKind>> all = [] {
    std::vector<std::unique_ptr<CertificateKind>> list;
    for (auto make : {explorationCertificate, ensembleCertificate, sparsityCertificate, scheduleCertificate,
                      placementCertificate, planCertificate})
      list.push_back(make());
    return list;
  }();
  return all;
}

llvm::json::Array strings(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(jsonString(text));
  return array;
}

void printDocument(VerifiedCertificate &verified) {
  const Verification &proof = verified.proof;
  llvm::json::Array findings;
  for (const Error &finding : proof.findings)
    findings.push_back(llvm::json::Object{{"code", numberOf(finding.code)}, {"message", jsonString(finding.message)}});
  llvm::json::Object document = std::move(verified.more);
  document["command"] = "verify";
  document["version"] = kVersion;
  document["status"] = proof.holds() ? "done" : "error";
  document["valid"] = proof.holds();
  document["findings"] = std::move(findings);
  document["checked"] = strings(proof.checked);
  document["assumed"] = strings(proof.trusted);
  llvm::outs() << jsonText(std::move(document)) << "\n";
}

void printFinding(const Error &finding, const std::string &path, bool located) {
  const SourceLocation &at = finding.location;
  std::string place = fmt::format("{}:{}:{}", at.file, at.line, at.column);
  fmt::print(stderr, "{}: error[{}]: {}\n", located && !at.file.empty() ? place : path, numberOf(finding.code),
             finding.message);
  if (!located && !at.file.empty() && at.line > 0)
    fmt::print(stderr, "{}: note: it is written here\n", place);
}

} // namespace

const std::vector<std::unique_ptr<CertificateKind>> &certificateKinds() { return kinds(); }

void registerCertificateKind(std::unique_ptr<CertificateKind> kind) {
  kinds().insert(kinds().begin(), std::move(kind));
}

std::string answerFolder(const std::string &path) {
  return llvm::sys::fs::is_directory(path) ? path : llvm::sys::path::parent_path(path).str();
}

int verifyAnswer(const CertificateRequest &request) {
  for (const std::unique_ptr<CertificateKind> &kind : kinds()) {
    if (!kind->matches(request.path))
      continue;
    auto verified = kind->verify(request);
    if (!verified)
      return kWrongInput;
    const Verification &proof = verified->proof;
    if (request.json) {
      printDocument(*verified);
    } else {
      for (const std::string &line : proof.checked)
        llvm::outs() << "  checked  " << line << "\n";
      for (const std::string &line : proof.trusted)
        llvm::outs() << "  assumes  " << line << "\n";
    }
    for (const Error &finding : proof.findings)
      printFinding(finding, request.path, verified->locatedByFindings);
    if (!request.json)
      llvm::outs() << fmt::format("the {} is {}\n", kind->subject(),
                                  proof.holds() ? "valid"
                                                : fmt::format("not valid: {} findings", proof.findings.size()));
    return proof.holds() ? kDone : kWrongInput;
  }
  return refuse(Code::CannotRead, fmt::format("'{}' is no answer that can be verified", request.path), request.json,
                "verify");
}

} // namespace accord
