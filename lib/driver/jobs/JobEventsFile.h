// events.json: what makes a running cluster differ from its plan.
#pragma once
#include "lib/jobs/problem/RunningState.h"
#include "lib/support/Result.h"
#include "llvm/ADT/StringRef.h"

namespace accord {

/// Reads {"events": [{"event": "progress", "job": "lm", "share": 0.4}, …]} strictly: unknown keys, keys that an event
/// of a kind does not have, and numbers out of range are refused. Error A1107: "events.json:3:12: …".
Result<std::vector<jobs::JobEvent>> readJobEventsFile(llvm::StringRef text, const std::string &file);
/// An error of one of these events, with the place of the event in the text.
Error placedAtEvent(Error error, llvm::StringRef text, const std::string &file, size_t event);

} // namespace accord
