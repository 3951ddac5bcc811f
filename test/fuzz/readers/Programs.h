// .accel and .dnn texts through the front end: parsed, and elaborated into the dialects.
#pragma once
#include "test/fuzz/readers/Reader.h"

namespace accord::fuzz {

/// Reads `text` as the file `path`, with all that it declares.
void readProgram(std::string_view text, const std::string &path);
/// What an importer has written is a program without errors of syntax.
void expectProgram(const std::string &text);

} // namespace accord::fuzz
