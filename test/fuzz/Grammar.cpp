#include "test/fuzz/Grammar.h"
#include <algorithm>
#include <cctype>

namespace accord::fuzz {

static constexpr unsigned kEndless = 1u << 20;

unsigned Grammar::cost(const Element &element) const {
  if (element.repeat == '?' || element.repeat == '*')
    return 0;
  unsigned sum = 0;
  switch (element.kind) {
  case Element::Literal:
  case Element::Characters:
    return 0;
  case Element::Rule: {
    if (std::isupper(static_cast<unsigned char>(element.text[0]))) // one token is as good as another
      return 0;
    auto found = costs.find(element.text);
    return found == costs.end() ? kEndless : std::min(kEndless, found->second + 1);
  }
  case Element::Sequence:
    for (const Element &child : element.children)
      sum = std::max(sum, cost(child));
    return sum;
  case Element::Alternatives:
    sum = kEndless;
    for (const Element &child : element.children)
      sum = std::min(sum, cost(child));
    return sum;
  }
  return kEndless;
}

void Grammar::computeCosts() {
  costs.clear();
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[name, body] : rules) {
      unsigned now = cost(body);
      auto found = costs.find(name);
      if (now < kEndless && (found == costs.end() || now < found->second))
        costs[name] = now, changed = true;
    }
  }
}

struct Grammar::Writer {
  const Grammar &grammar;
  Random &random;
  const std::vector<std::string> &words;
  size_t budget;
  std::string out;
  size_t tokens = 0;
  unsigned depth = 0;

  bool spent() const { return tokens >= budget || depth > 40; }

  void separate() {
    ++tokens;
    if (!out.empty())
      out += random.percent(15) ? '\n' : ' ';
  }

  void write(const Element &element, bool inToken) {
    size_t times = 1;
    if (element.repeat) {
      bool none = element.repeat != '+';
      times = spent() ? !none : !none + random.below(element.repeat == '?' ? 2 : 4);
    }
    while (times--)
      once(element, inToken);
  }

  void once(const Element &element, bool inToken) {
    switch (element.kind) {
    case Element::Literal:
      if (!inToken)
        separate();
      out += element.text;
      return;
    case Element::Characters:
      if (!element.text.empty())
        out += element.text[random.below(element.text.size())];
      return;
    case Element::Sequence:
      for (const Element &child : element.children)
        write(child, inToken);
      return;
    case Element::Alternatives:
      write(choose(element), inToken);
      return;
    case Element::Rule:
      rule(element.text, inToken);
      return;
    }
  }

  /// When the budget is spent, the way that ends soonest.
  const Element &choose(const Element &element) {
    if (!spent())
      return random.pick(element.children);
    unsigned min = kEndless;
    for (const Element &child : element.children)
      min = std::min(min, grammar.cost(child));
    std::vector<const Element *> soonest;
    for (const Element &child : element.children)
      if (grammar.cost(child) == min)
        soonest.push_back(&child);
    return *random.pick(soonest);
  }

  void rule(const std::string &name, bool inToken) {
    auto found = grammar.rules.find(name);
    if (found == grammar.rules.end() || depth > 400)
      return;
    bool token = !inToken && std::isupper(static_cast<unsigned char>(name[0]));
    if (token)
      separate();
    size_t begin = out.size();
    ++depth;
    write(found->second, inToken || token);
    --depth;
    bool free = found->second.kind == Element::Alternatives && found->second.children.size() == 1 &&
                !found->second.children[0].children.empty() &&
                found->second.children[0].children[0].kind != Element::Literal;
    if (token && (free || out[begin] == '"') && begin < out.size() && random.percent(85))
      replace(begin);
  }

  /// A made-up name, number or text says little: most are replaced by one of the same kind that
  /// occurs in real files.
  void replace(size_t begin) {
    auto kind = [](char c) {
      return std::isdigit(static_cast<unsigned char>(c))               ? 'n'
             : std::isalpha(static_cast<unsigned char>(c)) || c == '_' ? 'a'
                                                                       : c;
    };
    char wanted = kind(out[begin]);
    if (wanted != 'n' && wanted != 'a' && wanted != '"')
      return;
    for (int tries = 0; tries < 20 && !words.empty(); ++tries) {
      const std::string &word = random.pick(words);
      if (kind(word[0]) == wanted) {
        out.replace(begin, std::string::npos, word);
        return;
      }
    }
  }
};

std::string Grammar::sentence(Random &random, const std::vector<std::string> &words, size_t budget) const {
  Writer writer{*this, random, words, budget, {}, 0, 0};
  writer.rule(first, false);
  return std::move(writer.out);
}

} // namespace accord::fuzz
