// Fields of a JSON object of which nothing is unknown, each error with its place.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include <limits>

namespace accord {

/// Reads the fields of one object; `ok` stays false once something failed, and then nothing more is
/// reported. Call `end` last: it refuses keys that nobody asked for.
class StrictFields {
public:
  using Path = llvm::json::Path;
  StrictFields(const llvm::json::Value &value, Path path)
      : object_(value.getAsObject()), path_(path), ok_(object_ != nullptr) {
    if (!ok_)
      path_.report("expected object");
  }

  /// A field that has to be there (or not), read by `read(value, path)`, which says whether it
  /// could.
  template <typename Read> StrictFields &read(llvm::StringLiteral key, Read read, bool required = true) {
    if (!ok_)
      return *this;
    keys_.push_back(key);
    const llvm::json::Value *value = object_->get(key);
    if (!value) {
      if (required)
        fail(key, "missing value");
      return *this;
    }
    Path at = path_.field(key);
    ok_ = read(*value, at);
    return *this;
  }

  StrictFields &text(llvm::StringLiteral key, std::string &out, bool required = true) {
    return read(
        key,
        [&](const llvm::json::Value &value, Path at) {
          auto text = value.getAsString();
          return text ? (out = text->str(), true) : (at.report("expected string"), false);
        },
        required);
  }
  StrictFields &flag(llvm::StringLiteral key, bool &out, bool required = true) {
    return read(
        key,
        [&](const llvm::json::Value &value, Path at) {
          auto flag = value.getAsBoolean();
          return flag ? (out = *flag, true) : (at.report("expected boolean"), false);
        },
        required);
  }
  /// Finite and not negative.
  StrictFields &number(llvm::StringLiteral key, double &out, bool required = true) {
    return read(key, [&](const llvm::json::Value &value, Path at) { return readNumber(value, at, out); }, required);
  }
  template <typename T>
  StrictFields &integer(llvm::StringLiteral key, T &out, int64_t min = 0, int64_t max = int64_t(1) << 61,
                        bool required = true) {
    return read(
        key,
        [&](const llvm::json::Value &value, Path at) {
          int64_t wide = 0;
          if (!readInteger(value, at, wide, min, max))
            return false;
          out = static_cast<T>(wide);
          return true;
        },
        required);
  }
  /// A list, each element by `one(value, path, element)`.
  template <typename T, typename One>
  StrictFields &list(llvm::StringLiteral key, std::vector<T> &out, One one, bool required = true) {
    return read(key, [&](const llvm::json::Value &value, Path at) { return readList(value, at, out, one); }, required);
  }
  /// What another condition found; reported at a field of this object.
  StrictFields &check(llvm::StringLiteral key, bool holds, llvm::StringLiteral message) {
    if (ok_ && !holds)
      fail(key, message);
    return *this;
  }

  bool end() {
    if (!ok_)
      return false;
    for (const auto &member : *object_)
      if (!llvm::is_contained(keys_, llvm::StringRef(member.first))) {
        path_.field(member.first).report("unknown key");
        return ok_ = false;
      }
    return true;
  }

  static bool readNumber(const llvm::json::Value &value, Path at, double &out) {
    auto number = value.getAsNumber();
    if (!number || !(*number >= 0) || *number > std::numeric_limits<double>::max()) {
      if (number)
        at.report("expected a finite number that is not negative");
      else
        at.report("expected number");
      return false;
    }
    out = *number;
    return true;
  }
  static bool readInteger(const llvm::json::Value &value, Path at, int64_t &out, int64_t min, int64_t max) {
    auto number = value.getAsInteger();
    if (!number || *number < min || *number > max) {
      if (number)
        at.report("integer out of range");
      else
        at.report("expected integer");
      return false;
    }
    out = *number;
    return true;
  }
  template <typename T, typename One>
  static bool readList(const llvm::json::Value &value, Path at, std::vector<T> &out, One one) {
    const llvm::json::Array *array = value.getAsArray();
    if (!array) {
      at.report("expected array");
      return false;
    }
    out.clear();
    for (size_t i = 0; i < array->size(); ++i) {
      Path element = at.index(static_cast<unsigned>(i));
      T item{};
      if (!one((*array)[i], element, item))
        return false;
      out.push_back(std::move(item));
    }
    return true;
  }

private:
  void fail(llvm::StringLiteral key, llvm::StringLiteral message) {
    path_.field(key).report(message);
    ok_ = false;
  }

  const llvm::json::Object *object_;
  Path path_;
  llvm::SmallVector<llvm::StringRef, 24> keys_;
  bool ok_;
};

} // namespace accord
