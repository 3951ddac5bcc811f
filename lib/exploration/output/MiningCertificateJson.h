// The certificate of a mining: OUT/certificate/mining.json, with the space beside it.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/support/documents/Fields.h"
#include "llvm/Support/Error.h"

namespace accord {

/// Within the folder that `accord mine` wrote.
constexpr const char *kMiningCertificate = "certificate/mining.json";
constexpr const char *kMiningSpace = "certificate/space.mlir";
/// "certificate/design-3.json": a plan that proves what a design takes at least.
std::string miningPlanFile(unsigned number);

/// Its name, and what may be chosen.
void describe(JsonFields &f, DesignParameter &parameter);

/// All of a claim but its space; print it with `jsonText`.
llvm::json::Value toJson(const MiningCertificate &certificate);
/// Reads what `toJson` writes; `space` stays empty. Refuses, naming `path`, what is of another
/// form, choices and jobs that there are not, graphs that do not fit together, an answer of no job.
llvm::Expected<MiningCertificate> miningCertificateFromJson(llvm::StringRef text, llvm::StringRef path);

} // namespace accord
