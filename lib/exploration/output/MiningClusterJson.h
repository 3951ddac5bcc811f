// The cluster of a job in the certificate of a mining, or those that it is mined among.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Into a job: "cluster"; of several "clusters", "points", and "graphs", which are each there once,
/// without the seconds of what devices exchange.
void writeClusters(const CertificateJob &job, llvm::json::Object &into);
/// Reads what that writes; refuses problems, graphs and classes that do not fit together.
bool readCluster(const llvm::json::Value &value, llvm::json::Path at, CertificateJob &into);
bool readClusters(const llvm::json::Value &value, llvm::json::Path at, CertificateJob &into);

} // namespace accord
