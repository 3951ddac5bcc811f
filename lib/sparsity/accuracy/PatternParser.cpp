#include "lib/sparsity/accuracy/PatternParser.h"
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;
constexpr int64_t kMaxGroupSize = 1024, kMaxExtent = int64_t(1) << 40;

class PatternParser {
public:
  PatternParser(std::string_view text, GemmOperand of) : text(text) {
    out.pattern.dynamic = of != GemmOperand::Weights;
  }

  PatternText run() {
    std::string name = word();
    if (!startOf(name))
      return std::move(out);
    blanks();
    if (accept('('))
      arguments();
    while (out.error.empty() && (blanks(), at < text.size()))
      flag(word());
    if (out.error.empty())
      finish();
    return std::move(out);
  }

private:
  void fail(std::string why) {
    if (out.error.empty())
      out.error = std::move(why);
  }
  void blanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
  }
  bool accept(char c) {
    blanks();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  /// Letters, digits, points and signs: a name or a number.
  std::string word() {
    blanks();
    size_t start = at;
    while (at < text.size() && (llvm::isAlnum(text[at]) || text[at] == '_' || text[at] == '.' || text[at] == '-'))
      ++at;
    return std::string(text.substr(start, at - start));
  }

  bool startOf(const std::string &name) {
    const std::vector<std::string> names{"dense", "unstructured", "nm", "block", "banded"};
    if (name == "dense")
      keys = {};
    else if (name == "unstructured")
      out.pattern.kind = Kind::Unstructured, keys = {"density"};
    else if (name == "nm")
      out.pattern.kind = Kind::Structured, keys = {"n", "m", "along"}, required = 2;
    else if (name == "block")
      out.pattern.kind = Kind::Block, keys = {"rows", "columns", "density"}, required = 2;
    else if (name == "banded")
      out.pattern.kind = Kind::Banded, keys = {"band"}, required = 1;
    else {
      std::string near = nearest(name, names);
      fail(
          fmt::format("'{}' is no pattern; it is dense, unstructured, nm(n, m), block(rows, columns) or banded(band){}",
                      text, near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
    }
    return out.error.empty();
  }

  void arguments() {
    size_t place = 0;
    if (accept(')'))
      return;
    do {
      std::string key, value = word();
      if (accept('='))
        key = value, value = word();
      if (value.empty())
        return fail(fmt::format("'{}': expected a value at letter {}", text, at + 1));
      bool isWord = llvm::isAlpha(value[0]);
      if (key.empty() && isWord && value != "input" && value != "output")
        flag(value);
      else if (!key.empty() || place < keys.size())
        argument(key.empty() ? keys[place++] : key, value);
      else
        fail(fmt::format("'{}' has too many numbers", text));
    } while (out.error.empty() && accept(','));
    if (out.error.empty() && !accept(')'))
      fail(fmt::format("'{}': expected ',' or ')' at letter {}", text, at + 1));
  }

  void argument(const std::string &key, const std::string &value) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return fail(fmt::format("'{}' has no argument '{}'", text, key));
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return fail(fmt::format("'{}' says '{}' twice", text, key));
    seen.push_back(key);
    if (key == "along") {
      if (value != "input" && value != "output")
        return fail(fmt::format("'{}': along is input or output", text));
      out.pattern.along = value == "output" ? SparsityPattern::Along::Output : SparsityPattern::Along::Reduction;
      return;
    }
    auto read = parseNumber(value);
    const Rational *number = value.size() <= 40 ? read.get() : nullptr;
    if (key == "density") {
      if (!number || number->sign() < 0 || *number > Rational(1))
        return fail(fmt::format("'{}': a density is from 0 to 1", text));
      out.density = number->toDouble();
      return;
    }
    auto whole = number ? number->toInt64() : std::nullopt;
    bool structured = out.pattern.kind == Kind::Structured;
    int64_t min = key == "band" ? 0 : 1, max = structured ? kMaxGroupSize : kMaxExtent;
    if (!whole || *whole < min || *whole > max)
      return fail(fmt::format("'{}': {} is a whole number from {} to {}", text, key, min, max));
    SparsityPattern &p = out.pattern;
    (key == "n"         ? p.kept
     : key == "m"       ? p.of
     : key == "rows"    ? p.blockRows
     : key == "columns" ? p.blockColumns
                        : p.band) = *whole;
  }

  void flag(const std::string &name) {
    if (name == "transposable" && out.pattern.kind == Kind::Structured)
      out.pattern.transposable = true;
    else if (name == "static" || name == "dynamic")
      out.pattern.dynamic = name == "dynamic";
    else
      fail(fmt::format("'{}': '{}' is not expected here", text,
                       name.empty() ? std::string(text.substr(std::min(at, text.size()))) : name));
  }

  void finish() {
    for (size_t i = 0; i < required; ++i)
      if (std::find(seen.begin(), seen.end(), keys[i]) == seen.end())
        return fail(fmt::format("'{}' does not say {}", text, keys[i]));
    SparsityPattern &p = out.pattern;
    if (p.kind == Kind::Structured) {
      if (p.kept > p.of)
        return fail(fmt::format("'{}' keeps more than it has", text));
      out.density = p.density = double(p.kept) / p.of;
    }
    if (p.kind == Kind::Dense)
      out.density = 1;
    p.density = out.density.value_or(1);
  }

  std::string_view text;
  size_t at = 0, required = 0;
  std::vector<std::string> keys, seen;
  PatternText out;
};

} // namespace

PatternText parsePattern(std::string_view text, GemmOperand of) { return PatternParser(text, of).run(); }

std::string measuredPattern(GemmOperand of, const SparsityPattern &p) {
  std::string text;
  switch (p.kind) {
  case Kind::Dense:
    return "dense";
  case Kind::Unstructured:
  case Kind::Block:
    if (p.density >= 1)
      return "dense";
    text = p.kind == Kind::Block ? fmt::format("block({}, {})", p.blockRows, p.blockColumns) : "unstructured";
    break;
  case Kind::Structured:
    if (p.kept >= p.of)
      return "dense";
    text = fmt::format("nm({}, {}{}){}", p.kept, p.of,
                       p.along == SparsityPattern::Along::Output && !p.transposable ? ", along = output" : "",
                       p.transposable ? " transposable" : "");
    break;
  case Kind::Banded:
    text = fmt::format("banded({})", p.band);
    break;
  case Kind::Histogram:
    text = "histogram";
    break;
  case Kind::Mask:
    text = "mask";
    break;
  }
  if (p.dynamic != (of != GemmOperand::Weights))
    text += p.dynamic ? " dynamic" : " static";
  return text;
}

} // namespace accord
