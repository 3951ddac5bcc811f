// accord verify of what `accord mine` wrote.
#pragma once
#include "lib/exploration/verify/MiningVerifier.h"
#include "lib/planning/verify/Verify.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace accord {

/// Whether a folder, or the mine.json in it, is of a mining.
bool holdsMining(const std::string &path);
struct MiningVerification {
  Verification proof;
  /// What proves each answer, as counts of designs.
  std::vector<std::pair<CertificateAnswer, MiningProof>> answers;
};
/// Proves it again; nothing after an error is reported: what cannot be read.
std::optional<MiningVerification> verifyMining(const std::string &path, bool json);
llvm::json::Array toJson(const std::vector<std::pair<CertificateAnswer, MiningProof>> &answers);

/// The prices of a claim's work by the machine's own cost model, each found once.
CertificatePrices pricesOf(const MiningCertificate &certificate);
/// The folder of a job's plan within that of a mining: "plan", "plan-bert", "plan-bert-alone".
std::string planFolder(const MiningCertificate &certificate, const CertificateAnswer &answer, size_t job);

} // namespace accord
