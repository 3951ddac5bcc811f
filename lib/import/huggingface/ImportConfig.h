// A JSON object of settings, read key by key: every problem has a place in the file, and what
// nobody asked for is known in the end. Internal to lib/import.
#pragma once
#include "lib/support/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <set>

namespace accord::import {

class Config {
public:
  /// Errors: no JSON, no object.
  Config(Diagnostics &diags, FileId file);
  /// The settings of their own below a key of another one, which must outlive it; invalid after an error.
  Config(Config &outer, llvm::StringRef key);
  bool valid() const { return settings != nullptr; }

  /// A whole number of at least `min`; an error and `min` if it is missing (and no default is
  /// given) or something else. The first of `keys` that is there counts.
  int64_t integer(llvm::ArrayRef<llvm::StringRef> keys, std::optional<int64_t> missing = {}, int64_t min = 1);
  /// As it would be written in `.dnn`.
  std::string number(llvm::StringRef key, double missing);
  /// The same of a rate of dropout: below 1.
  std::string rate(llvm::StringRef key, double missing);
  bool flag(llvm::StringRef key, bool missing);
  std::string text(llvm::StringRef key, llvm::StringRef missing);
  /// An error and null if it is no list.
  const llvm::json::Array *list(llvm::StringRef key);
  /// Settings of their own below a key; null if there are none, with an error if it is something else.
  const llvm::json::Object *object(llvm::StringRef key);
  /// Whether it is there and not null.
  bool has(llvm::StringRef key);
  /// Whether it is this text, and not another value.
  bool says(llvm::StringRef key, llvm::StringRef word);
  /// What a key is if the settings do not say it: their class has this default.
  void assume(llvm::StringRef key, int64_t value) { defaults.insert_or_assign(key.str(), value); }
  /// These change nothing that a training costs.
  void ignore(llvm::ArrayRef<llvm::StringRef> keys);
  /// As it would be written in `.dnn`: a number of at least 0 below a key, `missing` if there is none.
  std::string numberIn(const llvm::json::Object *settings, llvm::StringRef key, double missing);
  /// An error at the key: its value cannot be said in `.dnn`.
  void unsupported(llvm::StringRef key, const std::string &reason);
  /// An error at the key unless the condition holds, which ties its value to that of another key. Nothing after other
  /// errors, which are where it may come from.
  void expect(bool holds, llvm::StringRef key, const std::string &expected);
  /// Keys that nothing has asked for.
  std::vector<std::string> unread() const;

private:
  const llvm::json::Value *find(llvm::StringRef key);
  SourceRange placeOf(llvm::StringRef key) const;
  void reportInvalid(llvm::StringRef key, const std::string &expected);

  Diagnostics &diags;
  FileId file;
  size_t errorsBefore = diags.errors();
  size_t begin = 0; ///< where the settings begin in the file, as far as is known
  std::optional<llvm::json::Value> document;
  const llvm::json::Object *settings = nullptr;
  std::set<std::string> readKeys;
  std::map<std::string, llvm::json::Value> defaults;
};

} // namespace accord::import
