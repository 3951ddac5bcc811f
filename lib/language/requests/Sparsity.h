// `sparsity for TRAINING { … }` -> what is asked of zeros, each key checked.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/sparsity/problem/SparsityRequest.h"
#include <map>

namespace accord {

/// The block as plain data; nothing after errors. Files that describe patterns (`histogram`,
/// `mask`) are read here; those of `accuracy` and `sensitivity` are named only, with the folder of
/// the file that names them before a relative path.
///
/// Of a rule: `choices` never holds the dense pattern, which is always one beside them (`= dense`
/// alone has no choices). `given` is true for one pattern of activations or gradients, and for a
/// mask or a histogram alone; a set is a choice. Zeros of weights are static and exact in number,
/// those of activations and gradients dynamic and independent, unless the file says another thing.
std::optional<SparsityRequest> sparsityRequest(const ast::Declaration &block, Diagnostics &diags, const Lookup &lookup);

/// A0104 at each rule that means none of the operand's names, with the nearest of them; false if
/// there is one. Names as `meansName` (lib/support/NamePattern.h) reads them.
bool checkRuleNames(const SparsityRequest &request, const std::map<GemmOperand, std::vector<std::string>> &known,
                    Diagnostics &diags);

} // namespace accord
