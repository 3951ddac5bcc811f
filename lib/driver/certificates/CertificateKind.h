// What commands leave behind so that `accord verify` proves their answers again: one kind for each sort of answer.
#pragma once
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/planning/verify/Verify.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct CertificateRequest {
  std::string path;   ///< a folder that a command wrote, or its main file
  std::string solver; ///< asked again what a solver answered: "z3", "cvc5" or a path; empty: none is
  bool json = false;  ///< what cannot be read is printed as a document
};

/// Of a mining: what proves the bound of one of its answers.
struct ProvedAnswer {
  std::string name; ///< the job's, or "common"
  double value = 0, bound = 0;
  MiningProof proof;
};

/// What was proved again of an answer.
struct VerifiedCertificate {
  Verification proof;
  std::optional<std::vector<ProvedAnswer>> answers = {}; ///< of a mining
  bool locatedByFindings = false; ///< findings are of places in the file, not of the answer as a whole
};

/// A kind of answer with its certificate.
class CertificateKind {
public:
  virtual ~CertificateKind() = default;
  /// What the answer is called: "plan" of "the plan holds".
  virtual const char *subject() const = 0;
  /// Whether the folder or file is an answer of this kind.
  virtual bool matches(const std::string &path) const = 0;
  /// Reads the answer with its certificate and proves it again, with code that shares nothing with what made it.
  /// Nothing where it cannot be read, which was printed.
  virtual std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const = 0;
};

/// Verifies the answer by the first kind that matches, and prints what holds and what does not. Returns the exit status
/// of `accord verify`: 0 where all holds.
int verifyAnswer(const CertificateRequest &request);

/// The folder of an answer: the path itself, or that of a file.
std::string answerFolder(const std::string &path);

std::unique_ptr<CertificateKind> explorationCertificate();
std::unique_ptr<CertificateKind> ensembleCertificate();
std::unique_ptr<CertificateKind> sparsityCertificate();
std::unique_ptr<CertificateKind> scheduleCertificate();
std::unique_ptr<CertificateKind> placementCertificate();
std::unique_ptr<CertificateKind> planCertificate();

} // namespace accord
