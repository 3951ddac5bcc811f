// What a plan with zeros has beside its placement (certificate/sparsity.json), written and read back without loss.
#pragma once
#include "lib/placement/problem/SparsePlacement.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace accord {

constexpr llvm::StringLiteral kPlacementSparsity = "certificate/sparsity.json";

/// Units with their decisions and costs, budgets, the chosen alternatives, and the parts that prove the bound. Costs
/// are as in certificate/placement.json; an infinite bound is null.
std::string placementSparsity(const PlacementSparsity &zeros);
/// Reads what that writes, as strictly as `placementFromCertificate`. Refuses, besides, every index that points nowhere
/// in the document itself; classes and parallel configurations are those of another document, see `check` of the
/// problem (lib/placement/problem/SparsePlacement.h).
llvm::Expected<PlacementSparsity> placementSparsityFrom(llvm::StringRef text, llvm::StringRef path);

} // namespace accord
