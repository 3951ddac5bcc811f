// `tuning NAME { … }` -> what may be chosen, how trials run, and what is asked; each key checked.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/tuning/problem/Tuning.h"

namespace accord {

/// The block as plain data, on one device; nothing after errors.
std::optional<tuning::TuningProblem> tuningRequest(const ast::Declaration &block, Diagnostics &diags,
                                                   const Lookup &lookup);

/// Where a tuning states a key or a block, as "from" and "population"; nothing where it does not.
std::optional<SourceRange> tuningEntryPlace(const ast::Declaration &block, llvm::StringRef key);

/// The blocks whose networks a tuning prices: `training = NAME`, `inference = NAME`; empty where there is none. Of a
/// block that `tuningRequest` has read without errors.
struct PricedBlocks {
  ast::Name training, inference;
};
PricedBlocks pricedBlocks(const ast::Declaration &block);
/// Reports what the file does not have of them, and an inference of another model than the one that is trained.
void checkPricedBlocks(const ast::Declaration &block, const ast::File &file, Diagnostics &diags);

} // namespace accord
