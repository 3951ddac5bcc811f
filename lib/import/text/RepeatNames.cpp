#include "lib/import/text/RepeatNames.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/language/models/OperationTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

using Words = llvm::SmallVector<llvm::StringRef, 8>;

Words wordsOf(llvm::StringRef text, char between) {
  Words words;
  text.split(words, between, -1, false);
  return words;
}
bool isNumber(llvm::StringRef word) { return llvm::all_of(word, llvm::isDigit); }
/// `layer` of layer12, nothing of 12.
llvm::StringRef stemOf(llvm::StringRef word) { return word.rtrim("0123456789"); }
/// Where the words of two copies' names differ first.
size_t differAt(const Words &a, const Words &b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}
/// Whether only their numbers tell these words apart.
bool isNumbered(const Words &a, const Words &b, size_t at) {
  return at < a.size() && at < b.size() && stemOf(a[at]) == stemOf(b[at]);
}
/// The first words, and all of them.
std::string joined(const Words &words, size_t many, const char *between) {
  return llvm::join(llvm::ArrayRef(words).take_front(many), between);
}

} // namespace

std::string Names::uniqueName(const std::string &wanted) {
  std::string base = nameFrom(wanted, "value"), name = base;
  bool reserved = findOperation(base);
  auto [counter, isNew] = counters.try_emplace(base, reserved ? 0 : 1);
  if (!isNew || reserved || !all.insert(name).second)
    do
      name = fmt::format("{}{}{}", base, base.back() == '_' ? "" : "_", ++counter->second);
    while (!all.insert(name).second);
  return name;
}

std::string Names::label(llvm::StringRef scope) {
  Words words = wordsOf(scope, '_');
  std::string label;
  for (llvm::StringRef word : llvm::reverse(words)) {
    label = word.str() + (label.empty() ? "" : "_" + label);
    if (std::string name = nameFrom(label, "block"); !isNumber(word) && all.insert(name).second)
      return name;
  }
  std::string base = nameFrom(label, "block"), name;
  int &counter = counters.try_emplace(base, 1).first->second;
  do
    name = fmt::format("{}_{}", base, ++counter);
  while (!all.insert(name).second);
  return name;
}

std::string scopeOf(llvm::StringRef name, llvm::StringRef next) {
  Words words = wordsOf(name, '_'), then = wordsOf(next, '_');
  size_t end = differAt(words, then);
  if (end + 1 >= words.size() || !isNumbered(words, then, end))
    return "";
  // Counted by copies or by the layers in one, and not through the whole file.
  llvm::StringRef stem = stemOf(words[end]);
  int64_t number = 0, after = 0;
  if (words[end].substr(stem.size()).getAsInteger(10, number) ||
      then[end].substr(stem.size()).getAsInteger(10, after) || after <= number || after > number + 4)
    return "";
  words[end] = stem;
  return joined(words, stem.empty() ? end : end + 1, "_");
}

std::string nameInCopy(llvm::StringRef name, llvm::StringRef other) {
  Words words = wordsOf(name, '_'), then = wordsOf(other, '_');
  size_t differs = differAt(words, then);
  if (isNumbered(words, then, differs)) {
    if (differs + 1 < words.size())
      words.erase(words.begin(), words.begin() + static_cast<long>(differs) + 1);
    else
      words[differs] = stemOf(words[differs]);
  }
  // The number of a statement in the file.
  while (words.size() > 1 && isNumber(words.back()) && (then.empty() || then.back() != words.back()))
    words.pop_back();
  return joined(words, words.size(), "_");
}

std::string placesOf(llvm::StringRef first, llvm::StringRef last) {
  Words a = wordsOf(first, '.'), b = wordsOf(last, '.');
  size_t differs = differAt(a, b);
  if (differs >= a.size() || differs >= b.size())
    return "";
  std::string to = joined(b, differs + 1, ".");
  return joined(a, differs + 1, ".") + " to " + (llvm::StringRef(to).starts_with("from ") ? to.substr(5) : to);
}

std::string placeInCopy(llvm::StringRef place, llvm::StringRef other) {
  Words words = wordsOf(place, '.'), then = wordsOf(other, '.');
  size_t known = std::min(words.size(), differAt(words, then) + 1);
  return known == words.size() ? "" : "from " + llvm::join(llvm::ArrayRef(words).drop_front(known), ".");
}

} // namespace accord::import
