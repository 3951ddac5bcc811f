// What proves stages of a profiled graph: the problem with its answer, as certificate/partitioning.json.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/Support/Error.h"

namespace accord {

constexpr const char *kPartitioningCertificate = "certificate/partitioning.json";

struct PartitioningAnswer {
  PartitioningProblem problem;
  PartitioningResult result;
};

/// All of a problem and its answer, but for the places of its nodes.
std::string partitioningCertificate(const PartitioningAnswer &answer);
/// Reads what `partitioningCertificate` writes; refuses nodes that there are not, but for that any problem and answer.
llvm::Expected<PartitioningAnswer> partitioningFromCertificate(llvm::StringRef text, llvm::StringRef path);

/// stages.json, its page report.html, and the certificate that both follow from.
AnswerFiles filesOf(const PartitioningAnswer &answer);

} // namespace accord
