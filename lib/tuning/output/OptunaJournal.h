// Studies of Optuna: a tuning as a file of its journal storage (JournalFileBackend, one JSON object a line), which its
// dashboard and samplers read, and trials of such a file as an earlier tuning. The operations are those of
// optuna/storages/journal/_storage.py, versions 3.1 to 5.0.
#pragma once
#include "lib/tuning/output/TuningOutput.h"

namespace accord::tuning {

constexpr const char *kJournalFile = "optuna.log";

/// One study, named as the tuning. The value of a trial is the best that it had. Those that others overtook or whose
/// curve stopped them are pruned, those that diverged or failed have failed. Times are seconds of the plan since 1970.
std::string optunaJournal(const TuningReport &report);

/// Whether a text begins as a journal.
bool isOptunaJournal(llvm::StringRef text);

/// Of a study the trials that have a value for each hyper-parameter of `space`: `problem` has these and the direction,
/// `result` has configurations and finite values. It is the study named `name`, or the only one. A last line that is
/// not whole is left out, as Optuna does. Else what is wrong, with the line (A1106).
Result<TuningReport> tuningFromOptuna(llvm::StringRef text, const std::string &file, const SearchSpace &space,
                                      const std::string &name);

} // namespace accord::tuning
