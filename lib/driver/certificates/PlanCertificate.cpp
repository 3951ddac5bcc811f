// The plan of a training on one device, and on a cluster.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/driver/certificates/ScheduleCertificate.h"

namespace accord {
namespace {

class PlanCertificateKind : public CertificateKind {
  const char *subject() const override { return "plan"; }
  bool matches(const std::string &) const override { return true; }
  std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const override {
    auto plan = readPlan(request.path, request.json, "verify");
    if (!plan)
      return std::nullopt;
    VerifiedCertificate verified{accord::verify(*plan)};
    if (verified.proof.holds())
      verifyQueries(verified.proof, *plan, answerFolder(request.path), request.solver);
    return verified;
  }
};

class PlacementCertificateKind : public CertificateKind {
  const char *subject() const override { return "plan"; }
  bool matches(const std::string &path) const override { return holdsPlacement(path); }
  std::optional<VerifiedCertificate> verify(const CertificateRequest &request) const override {
    auto plan = readPlacement(request.path, request.json, "verify");
    if (!plan || !readPlacementPaths(*plan, request.path, request.json, "verify"))
      return std::nullopt;
    VerifiedCertificate verified{verifyPlacement(*plan)};
    if (verified.proof.holds())
      verifyPlacementSmtQuery(verified.proof, *plan, answerFolder(request.path), request.solver);
    return verified;
  }
};

} // namespace

std::unique_ptr<CertificateKind> planCertificate() { return std::make_unique<PlanCertificateKind>(); }
std::unique_ptr<CertificateKind> placementCertificate() { return std::make_unique<PlacementCertificateKind>(); }

} // namespace accord
