// accord vote --widths: how wide members may be that together cost what the training's model does.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

/// `asked`: MEMBER.PARAMETER or MEMBER.PARAMETER:STEP, an integer parameter of the member's model.
/// The exit status.
int voteWidths(const Options &options, const std::string &asked);

} // namespace accord
