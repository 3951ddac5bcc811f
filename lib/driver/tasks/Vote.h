// accord vote, after its command line is read.
#pragma once
#include "lib/driver/Options.h"
#include "lib/ensembles/problem/EnsemblePlan.h"

namespace accord {

class Session;

/// The exit status.
int vote(const Options &options);

/// The ensemble that the session's file asks for, chosen and guaranteed. Nothing after errors: of the file they are in
/// the session's diagnostics; those of a member's training are printed, and `status` is the exit status of that.
std::optional<EnsemblePlan> planEnsemble(Session &base, const Options &options, std::optional<int> &status);

/// accord vote --widths: how wide members may be that together cost what the training's model does.
/// `asked`: MEMBER.PARAMETER or MEMBER.PARAMETER:STEP, an integer parameter of the member's model. The exit status.
int voteWidths(const Options &options, const std::string &asked);

} // namespace accord
