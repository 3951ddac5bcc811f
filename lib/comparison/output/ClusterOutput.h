// The comparison of a cluster for people and programs: tables on the terminal, a document, a page, rows for
// `accord calibrate`.
#pragma once
#include "lib/comparison/problem/ClusterComparison.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord::comparison {

/// Headline, where the difference is, what explains it, the ranks, their exchanges (`all`: of every rank, and their
/// work), notes.
std::string clusterText(const ClusterComparison &comparison, bool all, const TextStyle &style);

/// The document of `accord compare --json` for a cluster.
llvm::json::Value toJson(const ClusterComparison &comparison);
llvm::json::Value clusterSchema();

/// The page of the comparison.
std::string clusterPage(const ClusterComparison &comparison);

/// A table with a row for the step, as `accord calibrate` reads it.
std::string stepRows(const ClusterComparison &comparison);
/// A table with a row for each size of all-reduce and number of devices, as `accord calibrate --operations` reads it:
/// `batch` devices, `bytes` of the buffer, the mean time of the transfer.
std::string operationRows(const ClusterComparison &comparison);

/// What links achieved: exchanges of all ranks by kind, number of ranks, level of the network and bytes of a call.
struct LinkRow {
  CommunicationKind kind = CommunicationKind::Other;
  bool isIntraNode = false; ///< all ranks are in one node
  int64_t devices = 0;      ///< that take part
  int64_t bytes = 0;        ///< of a call
  int64_t calls = 0;
  double seconds = 0; ///< mean transfer of a call
  /// Bytes a second over each device's link, whatever the algorithm: of an all-reduce 2 (n - 1) / n bytes of the
  /// buffer, of gather, scatter and all-to-all (n - 1) / n of the whole, of a message all (nccl-tests, PERFORMANCE.md).
  double busBandwidth = 0;
};
/// Those that were seen on several ranks, so that waiting is known. Ascending.
std::vector<LinkRow> linkRows(const ClusterComparison &comparison);

} // namespace accord::comparison
