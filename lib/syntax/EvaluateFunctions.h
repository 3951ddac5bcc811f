// The functions of expressions, and ranges. Internal to lib/syntax.
#pragma once
#include "lib/syntax/Evaluate.h"

namespace accord {

bool isFunction(llvm::StringRef name);
const std::vector<std::string> &functionNames();
/// All arguments are valid and no choices.
Value callFunction(Diagnostics &diags, SourceRange range, const CallValue &call);
/// Fills in and checks the ends and the step; `range.unit` is 1 or the unit written at the upper end.
Value makeRange(Diagnostics &diags, SourceRange place, RangeValue range, const Value &low, const Value &high,
                const Value *step);

} // namespace accord
