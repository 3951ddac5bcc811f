#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accord {

// Kept before sorting; far beyond kCap, so that what is shown is the true beginning of the list.
static constexpr size_t kKept = 10000;
static constexpr size_t kNone = ~size_t{0};

Diagnostics::Builder &Diagnostics::Builder::note(SourceRange range, std::string message) {
  if (index != kNone)
    owner->list[index].notes.push_back({range, std::move(message)});
  return *this;
}

Diagnostics::Builder &Diagnostics::Builder::suggest(llvm::StringRef text) {
  return text.empty() ? *this : help("did you mean '" + text.str() + "'?");
}

Diagnostics::Builder &Diagnostics::Builder::help(std::string message) {
  if (index == kNone)
    return *this;
  std::string &help = owner->list[index].help; // "did you mean 'x'?" stays in front of the rest
  help = help.empty() ? std::move(message) : help + " " + message;
  return *this;
}

Diagnostics::Builder Diagnostics::add(Severity severity, Code code, SourceRange range, std::string message) {
  if (list.size() >= kKept)
    return {this, kNone};
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = std::move(message);
  list.push_back(std::move(diagnostic));
  return {this, list.size() - 1};
}

Diagnostics::Builder Diagnostics::error(Code code, SourceRange range, std::string message) {
  ++errorCount;
  return add(Severity::Error, code, range, std::move(message));
}

Diagnostics::Builder Diagnostics::warning(Code code, SourceRange range, std::string message) {
  return add(Severity::Warning, code, range, std::move(message));
}

void Diagnostics::dropErrors(size_t keep) {
  size_t seen = 0;
  std::erase_if(list, [&](const Diagnostic &d) { return d.severity == Severity::Error && seen++ >= keep; });
  errorCount = std::min(errorCount, keep);
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  // No place (the command line) comes first: ~0 + 1 wraps to 0.
  auto key = [](const Diagnostic &d) { return std::tuple(d.range.file.index + 1u, d.range.begin, d.range.end); };
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tuple(key(list[a]), a) < std::tuple(key(list[b]), b); });
  std::vector<Diagnostic> result;
  for (size_t i : order)
    result.push_back(list[i]);
  auto same = [&](const Diagnostic &a, const Diagnostic &b) {
    return key(a) == key(b) && a.code == b.code && a.message == b.message;
  };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

/// Whether two neighbouring letters changed places.
static bool swapped(llvm::StringRef a, llvm::StringRef b) {
  if (a.size() != b.size())
    return false;
  auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  return a.end() - x >= 2 && x[0] == y[1] && x[1] == y[0] && std::equal(x + 2, a.end(), y + 2);
}

std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  unsigned best = std::max<unsigned>(1, (static_cast<unsigned>(name.size()) + 1) / 3) + 1;
  std::string result;
  for (const std::string &candidate : candidates) {
    if (candidate == name)
      continue;
    // The same letters in another case are always near, and two that changed places are one slip.
    unsigned distance = llvm::StringRef(candidate).equals_insensitive(name) || swapped(name, candidate)
                            ? 1
                            : name.edit_distance(candidate, /*AllowReplacements=*/true, /*MaxEditDistance=*/best);
    // A replaced one-letter name has nothing in common with the other.
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      result = candidate;
    }
  }
  if (!result.empty() || name.size() < 3)
    return result;
  // "bert" for bert_large: what begins with it, else what has it in it; of several the shortest.
  bool begins = false;
  for (const std::string &candidate : candidates) {
    size_t at = llvm::StringRef(candidate).find_insensitive(name);
    if (at == llvm::StringRef::npos || candidate == name || (begins && at > 0))
      continue;
    if (result.empty() || (!begins && at == 0) || candidate.size() < result.size())
      result = candidate;
    begins |= at == 0;
  }
  return result;
}

} // namespace accord
