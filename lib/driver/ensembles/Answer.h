// accord vote where answers are required: who answers, on which devices.
#pragma once
#include "lib/driver/Options.h"
#include "lib/ensembles/problem/AnswerPlan.h"

namespace accord {

class Session;

/// The members, devices, levels and quorum that are chosen for `request`, which asks for answers, of the session's
/// file. Nothing after errors, as of `planEnsemble`.
std::optional<AnswerPlan> planAnswers(Session &base, const Options &options, const EnsembleRequest &request,
                                      std::optional<int> &status);

} // namespace accord
