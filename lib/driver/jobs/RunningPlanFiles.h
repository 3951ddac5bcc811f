// From what a plan that runs is read: the folder of its answer, and events.json, which says what did not go as planned.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"
#include "llvm/ADT/StringRef.h"

namespace accord {

/// What does not hold of an answer: of its schedule, its servers, or the state from which it goes on.
Errors findingsOf(const jobs::JobAnswer &answer);

/// The answer that a folder has, proved as `accord verify` does it: the certificate, what people read of it, and the
/// manifest, where there is one. Errors: what is wrong, each with the folder.
Result<jobs::JobAnswer, Errors> provedJobs(const std::string &folder);

/// Reads {"events": [{"event": "progress", "job": "lm", "share": 0.4}, …]} strictly: unknown keys, keys that an event
/// of a kind does not have, and numbers out of range are refused. Error A1107: "events.json:3:12: …".
Result<std::vector<jobs::JobEvent>> readJobEventsFile(llvm::StringRef text, const std::string &file);
/// An error of one of these events, with the place of the event in the text.
Error placedAtEvent(Error error, llvm::StringRef text, const std::string &file, size_t event);

} // namespace accord
