// Which block a place is in, and what that block may hold: from its first words alone, so that it works in broken
// files.
#pragma once
#include "dialects/accel/Schema.h"
#include "lib/editor/Around.h"
#include <map>
#include <string>
#include <vector>

namespace accord::editor {

struct Block {
  enum class Kind : uint8_t {
    File,    ///< outside of all braces
    Machine, ///< accelerator, cluster, a part of them: `schema` may be null where the subtype is not written yet
    Request, ///< train, search, jobs, …
    Body     ///< statements of a module, model or operation
  };
  Kind kind = Kind::File;
  std::string word;    ///< the first word of the block: "memory", "train", "repeat"
  std::string subtype; ///< "dram"
  std::string target;  ///< of `on NAME`, in the outermost block
  std::string outermost;
  const accel::BlockSchema *schema = nullptr;
};

/// The block around a place.
Block blockAt(const Around &place);

/// Words that begin an entry of this block besides its keys: blocks, `path`, `require`; each with what may be put
/// behind it as a snippet.
std::vector<std::pair<std::string, std::string>> entryWords(const Block &block);

/// "time, 0 or more; required": the type of a key of a machine in words.
std::string describeKey(const accel::KeySchema &key);

} // namespace accord::editor
