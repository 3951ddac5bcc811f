// A claim on a majority vote as JSON: the certificate of a guarantee.
#pragma once
#include "lib/ensembles/problem/VoteCertificate.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Fractions are text: "0.25", "1/3". Print it with `jsonText`.
llvm::json::Value toJson(const VoteCertificate &certificate);
llvm::json::Value toJson(const ErrorStatistics &statistics);

/// Reads what `toJson` writes; reports at `path` what is of another form. Whether it makes sense is
/// for `verify` to say (lib/ensembles/verify/Vote.h).
bool readVoteCertificate(const llvm::json::Value &value, VoteCertificate &out, llvm::json::Path path);
bool readErrorStatistics(const llvm::json::Value &value, ErrorStatistics &out, llvm::json::Path path);

/// A fraction as text, of at most Rational::kMaxBits.
bool readFraction(const llvm::json::Value &value, Rational &out, llvm::json::Path path);

} // namespace accord
