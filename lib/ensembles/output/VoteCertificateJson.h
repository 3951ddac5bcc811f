// A claim on a majority vote as JSON: the certificate of a guarantee.
#pragma once
#include "lib/ensembles/problem/VoteCertificate.h"
#include "lib/support/documents/Fields.h"

namespace accord {

/// Fractions are text: "0.25", "1/3". Print it with `jsonText`.
llvm::json::Value toJson(const VoteCertificate &certificate);

void describeCertificate(JsonFields &f, VoteCertificate &certificate);

/// Reads what `toJson` writes; reports at `path` what is of another form. Whether it makes sense is
/// for `verify` to say (lib/ensembles/verify/Vote.h).
bool readVoteCertificate(const llvm::json::Value &value, VoteCertificate &out, llvm::json::Path path);

/// A fraction as text, of at most Rational::kMaxBits.
void describeFraction(JsonVisitor &v, Rational &fraction);

} // namespace accord
