// Keys of caches: numbers and words in a row.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace accord {

/// No two different rows of the same kinds of things are the same bytes.
struct KeyBytes {
  std::string text;

  template <typename Number>
    requires std::integral<Number> || std::is_enum_v<Number>
  KeyBytes &operator<<(Number number) {
    auto wide = static_cast<int64_t>(number);
    text.append(reinterpret_cast<const char *>(&wide), sizeof wide);
    return *this;
  }
  KeyBytes &operator<<(double number) { return *this << std::bit_cast<int64_t>(number); }
  KeyBytes &operator<<(const std::string &word) {
    *this << word.size();
    text += word;
    return *this;
  }
  template <typename Item> KeyBytes &operator<<(const std::vector<Item> &items) {
    *this << items.size();
    for (const Item &item : items)
      *this << item;
    return *this;
  }
  template <typename Item> KeyBytes &operator<<(const std::map<std::string, Item> &items) {
    *this << items.size();
    for (const auto &[key, item] : items)
      *this << key << item;
    return *this;
  }
};

} // namespace accord
