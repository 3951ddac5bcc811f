// What commands leave behind so that `accord verify` proves their answers again: one kind for each sort of answer.
#pragma once
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/support/Verification.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <optional>
#include <string>

namespace accord {

struct CertificateRequest {
  std::string path;              ///< a folder that a command wrote, or its main file
  std::string solver;            ///< asked again what a solver answered: "z3", "cvc5" or a path; empty: none is
  bool allowTrusted = false;     ///< what rests on a solver's answer alone is accepted
  bool json = false;             ///< what cannot be read is printed as a document
  bool withoutManifest = false;  ///< whatever files of the answer were changed since it was written
  std::vector<std::string> from; ///< sources on which its command is run again; empty: it is not
  std::string program;           ///< accord itself, for that
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
  /// Files of the answer as its certificate gives them, printed by what wrote them, the document itself first: those in
  /// its folder are compared.
  AnswerFiles printed = {};
};

/// A kind of answer with its certificate. Add another one with `registerCertificateKind`.
struct CertificateKind {
  std::string subject; ///< what the answer is called: "plan" of "the plan holds"
  /// Whether the folder or file is an answer of this kind.
  std::function<bool(const std::string &path)> matches;
  /// Reads the answer with its certificate and proves it again, with code that shares nothing with what made it.
  /// Nothing where it cannot be read, which was printed.
  std::function<std::optional<VerifiedCertificate>(const CertificateRequest &request)> verify;
};

/// Adds a kind, of a plugin, which is tried before all others.
void registerCertificateKind(CertificateKind kind);

/// Verifies the answer by the first kind that matches, and prints what holds and what does not. Returns the exit status
/// of `accord verify`: 0 where all holds, and nothing rests on a solver's answer alone unless the request allows that.
int verifyAnswer(const CertificateRequest &request);

/// The folder of an answer: the path itself, or that of a file.
std::string answerFolder(const std::string &path);

CertificateKind explorationCertificate();
CertificateKind answerCertificate();
CertificateKind ensembleCertificate();
CertificateKind sparsityCertificate();
CertificateKind scheduleCertificate();
CertificateKind partitionCertificate();
CertificateKind timeCertificate();
CertificateKind jobsCertificate();
CertificateKind simulationCertificate();
CertificateKind offersCertificate();
CertificateKind tuningCertificate();
CertificateKind serversCertificate();
CertificateKind latencyCertificate();
CertificateKind placementCertificate();
CertificateKind planCertificate();

} // namespace accord
