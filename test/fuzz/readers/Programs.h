// .accel and .dnn texts through the front end: parsed, and elaborated into the dialects.
#pragma once
#include "test/fuzz/readers/Reader.h"

namespace accord::fuzz {

/// Reads the input as the file `path`, with all that it declares. Lines "//--OPTION" or "//--OPTION=VALUE" at its head
/// are options; what follows a line "//=== NAME" is another file, which it may name.
void readProgram(std::string_view input, const std::string &path);
/// What an importer has written is a program without errors of syntax.
void expectProgram(const std::string &text);

} // namespace accord::fuzz
