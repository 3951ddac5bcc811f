// How the structs of this folder are read from documents, which scripts/results.py writes from their schemas.
#pragma once
#include "lib/driver/Accord.h"
#include <optional>

namespace accord::results {

inline void readValue(const Document &from, double &out) { out = from.number(); }
inline void readValue(const Document &from, int64_t &out) { out = from.integer(); }
inline void readValue(const Document &from, bool &out) { out = from.flag(); }
inline void readValue(const Document &from, std::string &out) { out = from.text(); }
inline void readValue(const Document &from, std::optional<Document> &out) { out = from; }
template <typename T> void readValue(const Document &from, std::optional<T> &out);
template <typename T> void readValue(const Document &from, std::vector<T> &out);
template <typename T> void readValue(const Document &from, std::map<std::string, T> &out);
template <typename T>
  requires requires(const Document &from) { T::of(from); }
void readValue(const Document &from, T &out) {
  out = T::of(from);
}

/// Null is nothing.
template <typename T> void readValue(const Document &from, std::optional<T> &out) {
  if (!from.isNull())
    readValue(from, out.emplace());
}

template <typename T> void readValue(const Document &from, std::vector<T> &out) {
  for (size_t i = 0, size = from.size(); i < size; ++i) {
    T one{};
    readValue(from.element(i), one);
    out.push_back(std::move(one));
  }
}

template <typename T> void readValue(const Document &from, std::map<std::string, T> &out) {
  for (const std::string &key : from.keys())
    readValue(from.member(key), out[key]);
}

inline void read(const Document &from) {}
/// Values by their keys; of those that begin with '?', what is missing stays empty.
template <typename T, typename... More> void read(const Document &from, const char *key, T &out, More &&...more) {
  const bool mayMiss = *key == '?';
  if (!mayMiss || from.has(key + 1))
    readValue(from.member(key + mayMiss), out);
  read(from, std::forward<More>(more)...);
}

} // namespace accord::results
