// `answer { … }` in an ensemble -> what becomes of votes, and what members take that answer; curves of bit errors.
#pragma once
#include "lib/ensembles/problem/EnsembleRequest.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// Sets `out.answer`; machines that it names, with their places, go into `machines`.
void readEnsembleAnswer(const ast::Node &node, EnsembleRequest &out,
                        std::vector<std::pair<std::string, SourceRange>> &machines, Diagnostics &diags,
                        const Lookup &lookup);

/// "p50" is 1/2, "p999" is 0.999, "p100" is 1: digits behind the point, two or more. Nothing: it is no quantile.
std::optional<Rational> quantileShare(llvm::StringRef name);
/// Of seconds, rounded up.
int64_t picoseconds(const Rational &seconds);

/// The file that `bit_errors from` names, by kind of member: columns member, bit_error_rate and error, rates of a
/// member ascending from 0. Members that it does not have get an empty curve. Nothing after A1009.
std::optional<std::vector<BitErrorCurve>> readBitErrors(const EnsembleRequest &request, Diagnostics &diags);

} // namespace accord
