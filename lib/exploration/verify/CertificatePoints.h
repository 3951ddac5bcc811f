// Clusters that a mining chooses among, and whether what is claimed of them goes together.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// A point is a choice of all that clusters leave open: the last parameters of a design, the last one counting fastest;
/// or the place among the listed ones, behind them where it is not listed.
size_t pointOf(const MiningCertificate &certificate, const Design &design);
/// Where a job is placed, of its clusters. Nothing: it is on one device, or its cluster has no form of a stage there.
std::optional<size_t> clusterAt(const MiningCertificate &certificate, size_t job, const Design &design);

/// Of a claim, which outlives it.
class CertificatePoints {
public:
  explicit CertificatePoints(const MiningCertificate &certificate);

  /// Whether one of the jobs has no form of a stage there: true where that follows, for each form of its other clusters
  /// takes more devices than there are; false where it is only said. Nothing: all have forms.
  std::optional<bool> missing(const std::vector<size_t> &jobs, const Design &design) const;
  /// What does not go together: numbers of devices, or of those in a server, that do not grow as
  /// the counts do, forms that one cluster has and another one of no fewer devices has not,
  /// networks that are slower with more bandwidth. The rest of networks is not computed again.
  const std::vector<std::string> &wrong() const { return wrong_; }

private:
  void look(size_t job);
  std::string at(size_t job, size_t point) const;
  double counted(size_t point, uint64_t among) const;
  bool perServerFits(size_t job) const;

  const MiningCertificate &certificate_;
  std::vector<size_t> sizes_;
  std::vector<std::vector<char>> follows_; ///< by job and point: that there is no form
  std::vector<std::string> wrong_;
};

} // namespace accord
