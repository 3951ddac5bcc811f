// Archives in the ZIP format (PKWARE APPNOTE.TXT 6.3), stored or deflated, with or without ZIP64. Internal to
// lib/import.
#pragma once
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace accord::import {

class ZipFile {
public:
  /// The directory of an archive; nothing, and why, if there is none or it is damaged.
  static std::optional<ZipFile> open(std::unique_ptr<llvm::MemoryBuffer> bytes, std::string &error);

  /// The first entry whose name ends so, in the order of names; empty if there is none.
  std::string find(llvm::StringRef ending) const;
  /// What an entry holds; nothing, and why, if it is damaged, encrypted, packed in another way, or larger than `limit`.
  std::optional<std::string> read(const std::string &name, uint64_t limit, std::string &error) const;

private:
  struct Entry {
    uint64_t header = 0, packed = 0, size = 0; ///< bytes: where it begins, and how long it is packed and unpacked
    uint32_t crc = 0;
    uint16_t flags = 0, method = 0;
  };
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  std::map<std::string, Entry> entries;
};

} // namespace accord::import
