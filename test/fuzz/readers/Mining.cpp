#include "lib/exploration/output/MiningCertificateJson.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readMining(std::string_view input) {
  readAndWrite(input, miningCertificateFromJson,
               [](const MiningCertificate &certificate) { return toJson(certificate); });
  if (auto both = answerWithCertificate(input)) {
    auto certificate = miningCertificateFromJson(both->certificate, "fuzz");
    if (!certificate)
      return expectPlace(llvm::toString(certificate.takeError()));
    expectMessage(agrees(*certificate, "space", {"area < 1"}, both->answer, "fuzz"));
  }
}
