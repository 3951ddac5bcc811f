#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
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

void describe(JsonFields &f, ProvedAnswer &answer) {
  auto orNone = [](JsonVisitor &v, double &value) { v.numberOrNull(value, kAnyNumber); };
  MiningProof &proof = answer.proof;
  f.about("the job, or common")
      .field("name", answer.name)
      .about("of the design that was found; null: none")
      .field("value", answer.value, orNone)
      .about("no design has a smaller value, as is claimed; null: no design can be")
      .field("bound", answer.bound, orNone)
      .about("no design has a smaller value, as is proved here; at most the bound")
      .field("proved", proof.proven, orNone)
      .field("designs", proof.designs)
      .about("break what is required, or are no machines")
      .field("not_allowed", proof.refused)
      .about("not below the bound by arithmetic, bytes, dependences and device memory")
      .field("by_work", proof.byWork)
      .about("not below it with the prices of the cost model")
      .field("by_prices", proof.byPrices)
      .about("not below it by the bounds of plans in the certificate")
      .field("by_plans", proof.byPlans)
      .about("the search found none below it; that there is none is not proved")
      .field("by_search", proof.bySearch);
}

void describe(JsonFields &f, VerifiedCertificate &verified) {
  Verification &proof = verified.proof;
  f.head("verify", proof.holds() ? "done" : "error", {"done", "error"})
      .computed("valid", [&] { return proof.holds(); })
      .about("what was proved")
      .field("checked", proof.checked)
      .about("what the proof assumes")
      .field("assumed", proof.trusted)
      .about("what is wrong")
      .field("findings", proof.findings,
             [](JsonFields &g, Error &finding) {
               g.about("explained by accord explain", {{"pattern", "^A[0-9]{4}$"}})
                   .computed("code", [&] { return numberOf(finding.code); })
                   .field("message", finding.message);
             })
      .about("of a mining: what proves each bound, as numbers of designs")
      .maybe("answers", verified.answers);
}

static const DocumentEntry
    kDocument("verify", "accord verify --json",
              "The independent check of an answer. status is 'done' when it holds, else 'error'.",
              [] { return schemaOf<VerifiedCertificate>(); });

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
  Verification &proof = verified->proof;
  if (!request.allowTrusted)
    for (const std::string &what : proof.solverAnswers)
      proof.findings.push_back(
          {Code::BoundNotProved,
           fmt::format("{} assumes the answer of z3 alone: there is no proof to replay; --allow-trusted accepts it",
                       what),
           {},
           {}});
  if (request.json) {
    llvm::outs() << jsonText(toDocument(*verified)) << "\n";
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
