// Vectors as JSON arrays.
#pragma once
#include "lib/support/documents/JsonText.h"
#include <vector>

namespace accord {

/// Calls `one` for each element and collects what it returns.
template <typename T, typename One> llvm::json::Array list(const std::vector<T> &items, One one) {
  llvm::json::Array array;
  for (const T &item : items)
    array.push_back(one(item));
  return array;
}
inline llvm::json::Array ids(const std::vector<uint32_t> &items) {
  return list(items, [](uint32_t id) { return llvm::json::Value(id); });
}
inline llvm::json::Array numbers(const std::vector<int64_t> &items) {
  return list(items, [](int64_t n) { return llvm::json::Value(n); });
}
inline llvm::json::Array strings(const std::vector<std::string> &items) {
  return list(items, [](const std::string &s) { return jsonString(s); });
}

} // namespace accord
