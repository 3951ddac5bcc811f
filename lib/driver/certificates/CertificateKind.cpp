#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonLists.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// All kinds, in the order in which they are tried. The last one, a plan of one device, matches everything.
std::vector<CertificateKind> &kinds() {
  static std::vector<CertificateKind> all = {explorationCertificate(), ensembleCertificate(),  sparsityCertificate(),
                                             scheduleCertificate(),    placementCertificate(), planCertificate()};
  return all;
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

void registerCertificateKind(CertificateKind kind) { kinds().insert(kinds().begin(), std::move(kind)); }

std::string answerFolder(const std::string &path) {
  return llvm::sys::fs::is_directory(path) ? path : llvm::sys::path::parent_path(path).str();
}

int verifyAnswer(const CertificateRequest &request) {
  auto kind = llvm::find_if(kinds(), [&](const CertificateKind &one) { return one.matches(request.path); });
  if (kind == kinds().end())
    return refuse(Code::CannotRead, fmt::format("'{}' is no answer that can be verified", request.path), request.json,
                  "verify");
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
    llvm::outs() << fmt::format("the {} is {}\n", kind->subject,
                                proof.holds() ? "valid" : fmt::format("not valid: {} findings", proof.findings.size()));
  return proof.holds() ? kDone : kWrongInput;
}

} // namespace accord
