// Members that answer as JSON and text.
#pragma once
#include "lib/ensembles/problem/AnswerPlan.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/SearchStatus.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

constexpr const char *kAnswerFile = "answer.json";

/// The answer of `accord vote` where answers are required: all that is known of it, and what `readAnswerPlan` needs.
llvm::json::Value toJson(const AnswerPlan &plan);
llvm::json::Value answerSchema();
/// Reads what `toJson` wrote; reports at `path` what is of another form.
bool readAnswerPlan(const llvm::json::Value &value, AnswerPlan &plan, llvm::json::Path path);

/// Infeasible where a complete search found no placement.
SearchStatus statusOf(const AnswerPlan &plan);

/// Who answers where, what is guaranteed of answers and when they are there, what is idle, and why.
std::string answerSummary(const AnswerPlan &plan, const TextStyle &style);
/// answer.json.
AnswerFiles filesOf(const AnswerPlan &plan);

} // namespace accord
