// Keeps the input at hand, so that whatever kills or hangs the process leaves it in a file.
#pragma once
#include <string>

namespace accord::fuzz {

/// Inputs go to `folder`/crash-<seed>-<iteration>.<extension>. Handles signals, sanitizer reports
/// and hangs.
void guard(const std::string &folder, unsigned hangSeconds);
/// Before each input: what to write if it is the last. The text must live until the next call.
void underTest(const std::string &text, const std::string &fileName);
/// Writes the current input as if it had crashed (for a broken promise) and returns the path.
std::string keep();

} // namespace accord::fuzz
