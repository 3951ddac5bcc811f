// `ensemble NAME of TRAINING { … }` -> members, what is known of their errors, and what is asked;
// and tables of votes.
#pragma once
#include "lib/ensembles/problem/EnsembleRequest.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// The block as plain data; nothing after errors. That `TRAINING` is one and that members are calls
/// of models is not looked at: see `Program::ensemble`.
std::optional<EnsembleRequest> ensembleRequest(const ast::Declaration &block, Diagnostics &diags, const Lookup &lookup);

/// The file that `votes from` names; nothing after A1009 (or A0001-like errors of a file that
/// cannot be read), each at its line. A column for each member: `wide` or `wide.1` the first of its
/// kind, `wide.2` the second, without gaps; one line for each sample, of 1 or `right` and 0 or
/// `wrong`; with a column `count` as many samples as it says; with a column `class` of this true class. At most 63
/// members.
std::optional<VoteTable> readVotes(const EnsembleRequest &request, Diagnostics &diags);

} // namespace accord
