// Choices of offers.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/tasks/Choose.h"
#include "lib/offers/output/OfferCertificate.h"

namespace accord {
namespace {

std::optional<VerifiedCertificate> verify(const CertificateRequest &request) {
  const std::string folder = answerFolder(request.path),
                    file = (folder.empty() ? "." : folder) + "/" + offers::kOfferCertificate;
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto report = offers::offersFromCertificate(*text, file);
  if (!report)
    return refused(report.error().code, report.error().message, request.json, "verify");
  VerifiedCertificate verified{proofOf(*report)};
  // What the document says of proofs is what was proved here.
  report->checked = verified.proof.checked, report->searchAlone = verified.proof.solverAnswers;
  if (verified.proof.holds())
    verified.printed = filesOf(*report);
  return verified;
}

} // namespace

CertificateKind offersCertificate() {
  return {"choice", [](const std::string &path) { return hasResultFile(path, "choose.json"); }, verify};
}

} // namespace accord
