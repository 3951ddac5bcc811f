// Stages of a profiled graph. Their document states no graph, so that its sources alone can prove them.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/certificates/CertificateKind.h"

namespace accord {

CertificateKind partitionCertificate() {
  return {"partition", [](const std::string &path) { return hasResultFile(path, "stages.json"); },
          [](const CertificateRequest &request) -> std::optional<VerifiedCertificate> {
            if (!readResultFile(request.path, "stages.json", request.json, "verify"))
              return std::nullopt;
            VerifiedCertificate verified;
            if (request.from.empty())
              verified.proof.findings.push_back(
                  {Code::BoundNotProved, "stages.json states no graph: --from names the one that it is of", {}, {}});
            return verified;
          }};
}

} // namespace accord
