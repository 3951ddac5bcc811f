// What the search of a design space leaves behind, priced and proved again.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/exploration/verify/MiningVerifier.h"
#include <string>

namespace accord {

/// The prices of a claim's work by the machine's own cost model, each found once.
CertificatePrices pricesOf(const MiningCertificate &certificate);
/// The programs that kernels of operations become.
OperationPrograms kernelPrograms();
/// The folder of a job's plan within that of a mining: "plan", "plan-bert", "plan-bert-alone".
std::string planFolder(const MiningCertificate &certificate, const CertificateAnswer &answer, size_t job);

/// Files of a folder, as they are now; of one that cannot be read no hash.
std::vector<CertificateFile> certificateFiles(const std::string &folder, const std::vector<std::string> &names);

} // namespace accord
