// A file of an answer: printed by the command that answers, and printed again by whoever verifies the answer.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct AnswerFile {
  std::string name; ///< within the folder of the answer: "plan.json", "certificate/placement.json"
  std::string text;
};
using AnswerFiles = std::vector<AnswerFile>;

/// SHA-256 of a text, as 64 hexadecimal digits.
std::string sha256Of(llvm::StringRef text);

/// The first place where `text`, which somebody holds as the file `path`, differs from `given`, in words:
/// "out/plan.json: 3 at stages[1].devices, the certificate gives 4". JSON documents are the same if all their values
/// are printed alike, whatever space is between them; pages but for their links to each other (`withPageLinks`); any
/// other file is the same byte for byte. Also what keeps a
/// document from being read; nothing where both say the same.
std::optional<std::string> differenceFrom(const AnswerFile &given, llvm::StringRef text, const std::string &path);

} // namespace accord
