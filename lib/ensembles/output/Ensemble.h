// An ensemble as JSON, text and a page.
#pragma once
#include "lib/ensembles/problem/EnsemblePlan.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/SearchStatus.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

constexpr const char *kVoteFile = "vote.json";

/// The answer of `accord vote`: all that is known of it, and what `readEnsemble` needs.
llvm::json::Value toJson(const EnsemblePlan &plan);
llvm::json::Value voteSchema();
/// Reads what `toJson` wrote; reports at `path` what is of another form.
bool readEnsemble(const llvm::json::Value &value, EnsemblePlan &plan, llvm::json::Path path);

/// Infeasible where complete searches found no ensemble of any size.
SearchStatus statusOf(const EnsemblePlan &plan);

/// The table by size, what is chosen and where, and what it rests on. `folder`: of the report.
std::string ensembleSummary(const EnsemblePlan &plan, const std::string &folder, const TextStyle &style);
/// report.html: lib/report/page/ensemble.{html,js} with style and numbers of the other reports.
std::string toReport(const EnsemblePlan &plan);
/// vote.json and report.html.
AnswerFiles filesOf(const EnsemblePlan &plan);

/// A share in per cent, as a decimal of four digits: "8.73 %". Rounded up, or down with `isFloor`: nothing guaranteed
/// looks better than it is.
std::string percentText(const Rational &share, bool isFloor = false);

} // namespace accord
