// A claim on a majority vote as JSON: "certificate/vote.json" and parts of others.
#pragma once
#include "lib/model/VoteClaim.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace accord {

constexpr const char *kVoteCertificate = "certificate/vote.json";

/// Fractions are text: "0.25", "1/3". Print it with `jsonText`.
llvm::json::Value toJson(const VoteClaim &claim);
/// Facts alone, as in a claim.
llvm::json::Value toJson(const ErrorFacts &facts);

/// Reads what `toJson` writes; reports at `path` what is of another form.
bool readVoteClaim(const llvm::json::Value &value, VoteClaim &out, llvm::json::Path path);
/// The same of a text, refused with the name of its file.
llvm::Expected<VoteClaim> voteClaimFrom(llvm::StringRef text, llvm::StringRef path);

} // namespace accord
