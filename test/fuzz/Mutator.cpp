#include "test/fuzz/Mutator.h"
#include <algorithm>
#include <cctype>
#include <cstddef>

namespace accord::fuzz {

namespace {

const std::vector<std::string> kNumbers = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "0.0",
                                           "0.5",
                                           "1e308",
                                           "1e-308",
                                           "1e999999999",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551616",
                                           "340282366920938463463374607431768211456",
                                           "0.1",
                                           "3.3333333333333333333333333333",
                                           "1.",
                                           ".5",
                                           "1e",
                                           "1..",
                                           "00",
                                           "0x10",
                                           "1_000",
                                           "99999999999999999999999999999999999999999999999999999999999999999999"};
const std::vector<std::string> kUnits = {
    "Hz",   "MHz",     "GHz",   "B",   "KiB", "MiB", "GiB",   "TB",        "GB/s",   "B/cycle", "cycles", "s",
    "us",   "ns",      "h",     "W",   "kW",  "MW",  "pJ",    "J",         "pJ/bit", "mm2",     "um2",    "nm",
    "FLOP", "TFLOP/s", "USD/h", "USD", "m",   "kg",  "qubit", "GiB/s/s/s", "1/s",    "%",       "bit"};
const std::vector<std::string> kBytes = {std::string(1, '\0'),
                                         "\xff\xfe",
                                         "\xc0\x80",
                                         "\xed\xa0\x80",
                                         "\xef\xbb\xbf",
                                         "\xe2\x80\x8b",
                                         "\xf0\x9f\x98\x80",
                                         "\r\n",
                                         "\r",
                                         "\t",
                                         "\x1b[31m",
                                         "\\",
                                         "\"",
                                         "//",
                                         "///",
                                         "/*",
                                         "`",
                                         "$",
                                         "@",
                                         ";",
                                         "'"};
struct Nest {
  const char *open, *close;
};
const std::vector<Nest> kNests = {{"(", ")"},
                                  {"[", "]"},
                                  {"{", "}"},
                                  {"-", ""},
                                  {"not ", ""},
                                  {"f(", ")"},
                                  {"if a then ", " else b"},
                                  {"a ^ ", ""},
                                  {"", " + 1"},
                                  {"a.", ""},
                                  {"", "[0]"},
                                  {"core c { ", " }"},
                                  {"repeat 2 { ", " }"}};

class Mutation {
public:
  Mutation(Random &random, const Corpus &corpus, const std::string &text)
      : random(random), corpus(corpus), limit(std::max<size_t>(256 << 10, 2 * text.size())) {
    // Tokens with the white space before each, so that what is not changed stays as it was.
    size_t end = 0;
    for (std::string_view token : tokens(text)) {
      size_t begin = static_cast<size_t>(token.data() - text.data());
      parts.push_back(text.substr(end, begin - end) + std::string(token));
      end = begin + token.size();
    }
  }

  std::string run() {
    for (size_t changes = 1 + random.below(6); changes--;)
      change();
    std::string result;
    for (const std::string &part : parts)
      result += part;
    if (random.percent(4))
      result.resize(random.below(result.size() + 1));
    if (random.percent(4))
      result.insert(random.below(result.size() + 1), random.pick(kBytes));
    result.resize(std::min(result.size(), limit));
    return result;
  }

private:
  size_t somewhere() { return random.below(parts.size()); }
  size_t length() { return random.percent(70) ? 1 + random.below(4) : 1 + random.below(60); }

  /// A token at or after a random place whose first character is of the kind, or the end.
  size_t find(bool (*kind)(char)) {
    for (size_t at = somewhere(), tried = 0; tried < parts.size(); ++tried, at = (at + 1) % parts.size()) {
      size_t first = parts[at].find_first_not_of(" \t\r\n");
      if (first != std::string::npos && kind(parts[at][first]))
        return at;
    }
    return parts.size();
  }

  void set(size_t at, const std::string &token) {
    if (at >= parts.size())
      return;
    size_t first = parts[at].find_first_not_of(" \t\r\n");
    parts[at] = parts[at].substr(0, first == std::string::npos ? parts[at].size() : first) + token;
  }

  void change() {
    if (parts.empty())
      parts.emplace_back(corpus.words.empty() ? "x" : random.pick(corpus.words));
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    size_t at = somewhere(), n = std::min(length(), parts.size() - at);
    auto here = parts.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(12)) {
    case 0:
      return std::swap(parts[at], parts[somewhere()]);
    case 1:
      parts.erase(here, here + static_cast<std::ptrdiff_t>(n));
      return;
    case 2: {
      std::vector<std::string> copy(here, here + static_cast<std::ptrdiff_t>(n));
      size_t to = random.below(parts.size() + 1);
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(to), copy.begin(), copy.end());
      return;
    }
    case 3:
      return set(at, random.pick(corpus.words));
    case 4:
      return set(find(digit), random.pick(kNumbers));
    case 5:
    case 6:
      if (size_t number = find(digit); number + 1 < parts.size())
        set(number + 1, " " + random.pick(kUnits));
      return;
    case 7:
      return nest(at);
    case 8: { // a piece of another program
      std::vector<std::string_view> other = tokens(random.pick(corpus.programs).text);
      for (size_t from = random.below(other.size()), k = 0; k < n * 3 && from + k < other.size(); ++k)
        parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at + k), " " + std::string(other[from + k]));
      return;
    }
    case 9: // one name for another: shadowing, cycles, wrong kinds
      if (size_t a = find(letter), b = find(letter); a < parts.size() && b < parts.size())
        parts[a] = " " + parts[b];
      return;
    case 10:
      return set(at, parts[at] + random.pick(kBytes));
    default:
      parts.insert(here, " " + random.pick(corpus.words));
      return;
    }
  }

  void nest(size_t at) {
    const Nest &with = random.pick(kNests);
    size_t depth = random.percent(80) ? 1 + random.below(8) : 1 + random.below(3000);
    std::string open, close;
    for (size_t i = 0; i < depth; ++i)
      open += with.open, close += with.close;
    parts[at] = " " + open + parts[at] + (random.percent(90) ? close : "");
  }

  Random &random;
  const Corpus &corpus;
  std::vector<std::string> parts;
  size_t limit;
};

} // namespace

std::string mutate(Random &random, const Corpus &corpus, const std::string &text) {
  return Mutation(random, corpus, text).run();
}

} // namespace accord::fuzz
