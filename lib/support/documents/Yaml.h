// YAML as a tree with places, as LLVM reads it: anchors, aliases and tags are not followed.
#pragma once
#include "lib/support/Result.h"
#include <string>
#include <string_view>
#include <vector>

namespace accord {

struct YamlNode {
  enum class Kind : uint8_t { Null, Text, List, Map } kind = Kind::Null;
  std::string text;                                         ///< of a text: without quotes
  std::vector<YamlNode> items;                              ///< of a list, and the values of a map
  std::vector<std::pair<std::string, SourceLocation>> keys; ///< of a map, one for each item
  SourceLocation location;                                  ///< where it begins; a column is a byte

  /// The value of a key: the first one of its name; null where there is none.
  const YamlNode *find(std::string_view key) const;
};

/// The first document of a text of at most 4 MiB. `file` is for the places. Errors, all of code `code`: what LLVM's
/// reader says, more than 50 levels, an alias, a key that is no text, one that stands twice in its map, a text that is
/// not UTF-8 or has control characters.
Result<YamlNode> readYaml(std::string_view text, const std::string &file, Code code);

} // namespace accord
