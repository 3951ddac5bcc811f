#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/ReportedDiagnostic.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

/// All kinds, in the order in which they are tried. The last one, a plan of one device, matches everything.
std::vector<CertificateKind> &kinds() {
  static std::vector<CertificateKind> all = {explorationCertificate(), ensembleCertificate(),   answerCertificate(),
                                             sparsityCertificate(),    scheduleCertificate(),   partitionCertificate(),
                                             timeCertificate(),        jobsCertificate(),       offersCertificate(),
                                             tuningCertificate(),      serversCertificate(),    placementCertificate(),
                                             latencyCertificate(),     simulationCertificate(), planCertificate()};
  return all;
}

void printFinding(const Error &finding, const std::string &path, bool located) {
  const SourceLocation &at = finding.location;
  std::string place = fmt::format("{}:{}:{}", at.file, at.line, at.column);
  standardError() << fmt::format("{}: error[{}]: {}\n", located && !at.file.empty() ? place : path,
                                 numberOf(finding.code), finding.message);
  ReportedDiagnostic reported;
  reported.code = numberOf(finding.code);
  reported.message = finding.message;
  reported.place.file = path;
  if (!at.file.empty() && (located || at.line > 0)) {
    ReportedPlace here{at.file, at.line, at.column};
    if (located)
      reported.place = here;
    else
      reported.notes.push_back({"it is written here", here});
  }
  if (!reported.notes.empty())
    standardError() << fmt::format("{}: note: it is written here\n", place);
  reportToHost(std::move(reported));
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

/// The folder of an answer in whose manifest the files of this one are: itself, or one above it.
static std::string folderOfManifest(const std::string &path) {
  std::string folder = answerFolder(path);
  for (std::string at : {folder, folder + "/.."})
    if (llvm::sys::fs::exists(at + "/" + kManifestFile))
      return at;
  return folder;
}

/// Holds the files of an answer against its manifest, and against what its command writes from the same sources.
static void addManifest(Verification &proof, const CertificateRequest &request) {
  if (request.withoutManifest)
    return proof.trusted.push_back("that the files of the answer are those that were written");
  std::string folder = folderOfManifest(request.path);
  bool isAlone = !llvm::sys::fs::is_directory(request.path) && !llvm::sys::fs::exists(folder + "/" + kManifestFile);
  if (isAlone && request.from.empty())
    return proof.trusted.push_back("what the file says of its sources: no manifest is beside it");
  auto manifest = readManifest(folder);
  if (!manifest)
    return proof.findings.push_back(manifest.error());
  Errors found = manifestViolations(*manifest, folder);
  if (found.empty())
    proof.checked.push_back(fmt::format("files of the answer, as its manifest says: {}", manifest->files.size()));
  if (found.empty() && !request.from.empty() && manifest->stopped) {
    std::string sentence = "the search was stopped, so that its command may give another answer and is not run again";
    if (request.allowTrusted)
      proof.trusted.push_back("that its sources give the answer: " + sentence);
    else
      found.push_back({Code::NotReproduced, sentence + "; --allow-trusted accepts that", {}, {}});
  } else if (found.empty() && !request.from.empty()) {
    found = reproductionViolations(*manifest, folder, request.program, request.from);
    if (found.empty())
      proof.checked.push_back(fmt::format("its command, run again on the same sources ({}), writes the same files ({})",
                                          manifest->sources.size(), manifest->files.size()));
  }
  llvm::append_range(proof.findings, found);
}

constexpr size_t kMaxShownFiles = 12;

/// Holds the files of an answer against those that its certificate gives; of a file alone this one.
static void addPrinted(Verification &proof, AnswerFiles printed, const CertificateRequest &request) {
  bool isFolder = llvm::sys::fs::is_directory(request.path);
  if (!isFolder && !printed.empty()) {
    printed.resize(1);
    printed.front().name = llvm::sys::path::filename(request.path);
  }
  // A plan within a larger answer has fewer files.
  bool all = isFolder && !request.withoutManifest && llvm::sys::fs::exists(request.path + "/" + kManifestFile);
  Errors found = fileViolations(printed, answerFolder(request.path), all);
  if (found.empty() && !printed.empty()) {
    const size_t shown = printed.size() > kMaxShownFiles ? kMaxShownFiles / 2 : printed.size();
    std::string names;
    for (size_t i = 0; i < shown; ++i)
      names += (i > 0 ? ", " : "") + printed[i].name;
    if (shown < printed.size())
      names += fmt::format(" and {} more", printed.size() - shown);
    proof.checked.push_back("what people read follows from it: " + names);
  }
  llvm::append_range(proof.findings, found);
}

int verifyAnswer(const CertificateRequest &request) {
  auto kind = llvm::find_if(kinds(), [&](const CertificateKind &one) { return one.matches(request.path); });
  if (kind == kinds().end())
    return refuse(Code::CannotRead, fmt::format("'{}' is no answer that can be verified", request.path), request.json,
                  "verify");
  auto verified = kind->verify(request);
  if (!verified)
    return kWrongInput;
  if (verified->proof.holds())
    addPrinted(verified->proof, std::move(verified->printed), request);
  addManifest(verified->proof, request);
  Verification &proof = verified->proof;
  if (!request.allowTrusted)
    for (const std::string &what : proof.solverAnswers)
      proof.findings.push_back({Code::BoundNotProved,
                                fmt::format("{}: there is no proof to replay; --allow-trusted accepts it", what),
                                {},
                                {}});
  if (request.json) {
    standardOutput() << jsonText(toDocument(*verified)) << "\n";
  } else {
    for (const std::string &line : proof.checked)
      standardOutput() << "  checked  " << line << "\n";
    for (const std::string &line : proof.trusted)
      standardOutput() << "  assumes  " << line << "\n";
  }
  for (const Error &finding : proof.findings)
    printFinding(finding, request.path, verified->locatedByFindings);
  if (!request.json)
    standardOutput() << fmt::format("the {} is {}\n", kind->subject,
                                    proof.holds() ? "valid"
                                                  : fmt::format("not valid: {} findings", proof.findings.size()));
  return proof.holds() ? kDone : kWrongInput;
}

} // namespace accord
