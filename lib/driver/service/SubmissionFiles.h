// The description of a training with all that it imports, to be sent to a scheduler that does not see these files.
#pragma once
#include "lib/support/Diagnostics.h"
#include <map>
#include <string>

namespace accord {

/// Paths relative to the folder of the main file, with their texts. What is imported from the catalogue is not among
/// them. Nothing after errors, which are reported: a file that cannot be read, or that lies outside of that folder.
std::optional<std::map<std::string, std::string>> submissionFiles(Diagnostics &diags, const std::string &main);

/// Writes such files below a folder. Error A1204.
Result<void> writeSubmissionFiles(const std::map<std::string, std::string> &files, const std::string &folder);

} // namespace accord
