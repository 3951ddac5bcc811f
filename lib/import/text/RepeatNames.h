// What the statements of a repeat are called, from the names of two of its copies. Internal to
// lib/import.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <map>
#include <set>
#include <string>

namespace accord::import {

/// Names of one part of the text, each given once.
class Names {
public:
  void reserve(const std::string &name) { all.insert(name); }
  std::string uniqueName(const std::string &wanted);
  /// The last word of a scope; more of it where that is given.
  std::string label(llvm::StringRef scope);

private:
  std::set<std::string> all;
  std::map<std::string, int> counters;
};

/// `encoder_layer` of encoder_layer_0_query and the next copy's encoder_layer_1_query; empty if
/// nothing counts the copies.
std::string scopeOf(llvm::StringRef name, llvm::StringRef next);
/// `query` of them: what does not tell the copies apart and is behind what does.
std::string nameInCopy(llvm::StringRef name, llvm::StringRef other);
/// `from layer.0 to layer.11` of the first and the last copy's places; empty if these are one.
std::string placesOf(llvm::StringRef first, llvm::StringRef last);
/// `from attention` of layer.1.attention, another copy's layer.0.attention; empty if nothing is
/// left.
std::string placeInCopy(llvm::StringRef place, llvm::StringRef other);

} // namespace accord::import
