#include "lib/import/torch/ZipFile.h"
#include "llvm/Support/Endian.h"
#include <fmt/format.h>
#include <zlib.h>

namespace accord::import {
namespace {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

constexpr uint32_t kLocal = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30, kDirectoryBytes = 46, kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr uint64_t kMaxEntries = 1 << 20;

/// Bytes of the archive; reads behind its end give zeros, which no signature is.
struct Bytes {
  llvm::StringRef all;
  bool has(uint64_t at, uint64_t size) const { return at <= all.size() && size <= all.size() - at; }
  uint16_t two(uint64_t at) const { return has(at, 2) ? read16le(all.data() + at) : 0; }
  uint32_t four(uint64_t at) const { return has(at, 4) ? read32le(all.data() + at) : 0; }
  uint64_t eight(uint64_t at) const { return has(at, 8) ? read64le(all.data() + at) : 0; }
};

struct Directory {
  uint64_t at = 0, entries = 0;
};

/// From the record at the end of the archive, behind which there may be a comment of up to 64 KiB.
std::optional<Directory> directoryOf(const Bytes &zip) {
  if (zip.all.size() < kEndBytes)
    return std::nullopt;
  uint64_t last = zip.all.size() - kEndBytes, first = last - std::min<uint64_t>(last, 0xffff);
  for (uint64_t at = last + 1; at-- > first;) {
    if (zip.four(at) != kEnd)
      continue;
    Directory found{zip.four(at + 16), zip.two(at + 10)};
    if (at >= kLocatorBytes && zip.four(at - kLocatorBytes) == kLocator64) {
      uint64_t end = zip.eight(at - kLocatorBytes + 8);
      if (zip.four(end) != kEnd64 || !zip.has(end, kEnd64Bytes))
        return std::nullopt;
      found = {zip.eight(end + 48), zip.eight(end + 32)};
    }
    return found;
  }
  return std::nullopt;
}

/// Raw deflate of zlib into a string of the stated size; false if it is not that.
bool inflated(llvm::StringRef packed, std::string &out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int status = inflate(&stream, Z_FINISH);
  bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole;
}

} // namespace

std::optional<ZipFile> ZipFile::open(std::unique_ptr<llvm::MemoryBuffer> buffer, std::string &error) {
  Bytes zip{buffer->getBuffer()};
  std::optional<Directory> directory = directoryOf(zip);
  if (!directory || directory->entries > kMaxEntries) {
    error = "is no ZIP archive, or its end is missing";
    return std::nullopt;
  }
  ZipFile file;
  uint64_t at = directory->at;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    uint64_t names = zip.two(at + 28), extra = zip.two(at + 30), comment = zip.two(at + 32);
    if (zip.four(at) != kDirectory || !zip.has(at, kDirectoryBytes + names + extra + comment)) {
      error = fmt::format("has a damaged directory: entry {} of {}", i + 1, directory->entries);
      return std::nullopt;
    }
    Entry entry{zip.four(at + 42), zip.four(at + 20), zip.four(at + 24),
                zip.four(at + 16), zip.two(at + 8),   zip.two(at + 10)};
    std::string name = zip.all.substr(at + kDirectoryBytes, names).str();
    // ZIP64: the fields that have no room stand in an extra field, in this order.
    uint64_t field = at + kDirectoryBytes + names, end = field + extra;
    while (field + 4 <= end) {
      uint64_t kind = zip.two(field), size = zip.two(field + 2), value = field + 4;
      for (uint64_t *one : {&entry.size, &entry.packed, &entry.header})
        if (kind == 1 && *one == 0xffffffff && value + 8 <= field + 4 + size) {
          *one = zip.eight(value);
          value += 8;
        }
      field += 4 + size;
    }
    file.entries.emplace(std::move(name), entry);
    at += kDirectoryBytes + names + extra + comment;
  }
  file.bytes = std::move(buffer);
  return file;
}

std::string ZipFile::find(llvm::StringRef ending) const {
  for (const auto &[name, entry] : entries)
    if (llvm::StringRef(name).ends_with(ending))
      return name;
  return "";
}

std::optional<std::string> ZipFile::read(const std::string &name, uint64_t limit, std::string &error) const {
  auto found = entries.find(name);
  auto fail = [&](const std::string &reason) {
    error = fmt::format("its entry '{}' {}", name.substr(0, 120), reason);
    return std::nullopt;
  };
  if (found == entries.end())
    return fail("is missing");
  const Entry &entry = found->second;
  Bytes zip{bytes->getBuffer()};
  if (entry.size > limit)
    return fail(fmt::format("has {} bytes, more than {}", entry.size, limit));
  if (entry.flags & 1)
    return fail("is encrypted");
  if (entry.method != 0 && entry.method != 8)
    return fail(fmt::format("is packed by method {}; stored and deflated ones are read", entry.method));
  uint64_t start = entry.header + kLocalBytes + zip.two(entry.header + 26) + zip.two(entry.header + 28);
  if (zip.four(entry.header) != kLocal || !zip.has(start, entry.packed) || entry.packed > UINT32_MAX)
    return fail("is damaged");
  llvm::StringRef packed = zip.all.substr(start, entry.packed);
  std::string out;
  if (entry.method == 0) {
    out = packed.str();
  } else {
    // Deflate makes at most 1032 bytes of one: a size beyond that is a lie.
    if (entry.size / 1032 > entry.packed)
      return fail("is damaged");
    out.resize(entry.size);
    if (!inflated(packed, out))
      return fail("is damaged");
  }
  if (out.size() != entry.size ||
      crc32(0, reinterpret_cast<const Bytef *>(out.data()), static_cast<uInt>(out.size())) != entry.crc)
    return fail("is damaged: its checksum differs");
  return out;
}

} // namespace accord::import
