// What the fuzzer starts from: the catalogue, the examples, and the fenced code of the
// documentation.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord::fuzz {

enum class Kind : uint8_t { Accel, Dnn, Plan };
const char *extension(Kind kind); ///< ".accel", ".dnn", ".json"
/// By the end of a path; nothing if it is none of them.
std::optional<Kind> kindOf(std::string_view path);

struct Program {
  std::string name; ///< file name, for a crash report
  Kind kind = Kind::Accel;
  std::string text;
};

struct Corpus {
  std::vector<Program> programs;  ///< in order of path, so that a seed means the same everywhere
  std::vector<std::string> words; ///< every distinct token of them, sorted

  bool empty() const { return programs.empty(); }
  /// Reads `.accel`, `.dnn`, `plan.json`, and the ```accel and ```dnn blocks of `.md` files below
  /// `path` (or `path` itself).
  void add(const std::string &path);
  /// Call once after the last add.
  void finish();
};

/// Names, numbers, texts, comments and single punctuation marks; white space is dropped.
std::vector<std::string_view> tokens(std::string_view text);

} // namespace accord::fuzz
