#include "lib/exploration/output/MiningCertificateJson.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readMining(std::string_view input) {
  readAndWrite(input, miningCertificateFromJson,
               [](const MiningCertificate &certificate) { return toJson(certificate); });
}
