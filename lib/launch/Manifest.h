// A manifest of Kubernetes: one object as JSON, which its API takes, and the same as YAML, which people read.
#pragma once
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace accord {

struct Manifest {
  llvm::json::Value object = nullptr;
  std::vector<std::string> head; ///< comments before the object, a line each
  /// Comments beside a text, by the last key above it and the text itself: {"image", ""}. They follow the whole list
  /// where the text is the first of a list that stands on one line.
  std::map<std::pair<std::string, std::string>, std::string> beside;
  std::map<std::string, std::vector<std::string>> behind; ///< comments at the end of a list, by its key
};

/// The object as a document of YAML 1.2, with its comments. Keys come in the order in which people look for them,
/// others after them by name. Texts are in double quotes unless they are words of Kubernetes or names that cannot be
/// read as anything else. Comments are written as they are: they have no line breaks.
std::string yamlText(const Manifest &manifest);

} // namespace accord
