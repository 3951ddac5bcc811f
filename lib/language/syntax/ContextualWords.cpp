// Words that mean something only at certain places: `step`, `per`, `import`, `x` … are ordinary
// names everywhere else.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Tokens.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace accord::syntax {
namespace {
using P = grammar::DnnParser;

constexpr size_t kEnd = ~size_t{0};

bool isAtom(size_t type) {
  return llvm::is_contained({P::NUMBER, P::QUANTITY, P::STRING, P::IDENT, P::TRUE, P::FALSE}, type);
}
bool endsOperand(size_t type) {
  return isAtom(type) || llvm::is_contained({P::RPAREN, P::RBRACKET, P::RBRACE, P::TRANSPOSABLE}, type);
}
bool startsOperand(size_t type) {
  return isAtom(type) || llvm::is_contained({P::LPAREN, P::LBRACKET, P::LBRACE, P::MINUS, P::NOT, P::IF}, type);
}

class Marker {
public:
  /// What a word means, in which language, and where.
  struct Meaning {
    uint16_t type;
    enum : uint8_t { Both, Accel, Dnn } language;
    bool (Marker::*means)() const;
    bool isOf(bool dnn) const { return language == Both || (language == Dnn) == dnn; }
  };
  static const llvm::StringMap<Meaning> &words() {
    using M = Marker;
    static const llvm::StringMap<Meaning> table = {
        {"import", {P::IMPORT, Meaning::Both, &M::beforeText}},
        {"let", {P::LET, Meaning::Both, &M::bindsNames}},
        {"require", {P::REQUIRE, Meaning::Both, &M::ruleWord}},
        {"prefer", {P::PREFER, Meaning::Both, &M::ruleWord}},
        {"maximize", {P::MAXIMIZE, Meaning::Both, &M::ruleWord}},
        {"minimize", {P::MINIMIZE, Meaning::Both, &M::ruleWord}},
        {"path", {P::PATH, Meaning::Both, &M::isPath}},
        {"source", {P::SOURCE, Meaning::Both, &M::textClause}},
        {"from", {P::FROM, Meaning::Both, &M::textClause}},
        {"per", {P::PER, Meaning::Both, &M::clause}},
        {"weight", {P::WEIGHT, Meaning::Both, &M::clause}},
        {"confidence", {P::CONFIDENCE, Meaning::Both, &M::clause}},
        {"samples", {P::SAMPLES, Meaning::Both, &M::sampleClause}},
        {"step", {P::STEP, Meaning::Both, &M::isStep}},
        {"error", {P::ERROR, Meaning::Both, &M::isError}},
        {"pow2", {P::POW2, Meaning::Both, &M::isPowers}},
        {"transposable", {P::TRANSPOSABLE, Meaning::Both, &M::isTransposable}},
        {"of", {P::OF, Meaning::Both, &M::isOf}},
        {"for", {P::FOR, Meaning::Both, &M::isFor}},
        {"on", {P::ON, Meaning::Both, &M::isOn}},
        {"x", {P::CROSS, Meaning::Accel, &M::isCross}},
        {"input", {P::INPUT, Meaning::Dnn, &M::isInput}},
        {"var", {P::VAR, Meaning::Dnn, &M::bindsNames}},
        {"repeat", {P::REPEAT, Meaning::Dnn, &M::loops}},
        {"scan", {P::SCAN, Meaning::Dnn, &M::loops}},
        {"reverse", {P::REVERSE, Meaning::Dnn, &M::isReverse}},
        {"loss", {P::LOSS, Meaning::Dnn, &M::isLoss}},
        {"in", {P::IN, Meaning::Dnn, &M::isIn}},
        {"as", {P::AS, Meaning::Dnn, &M::isAs}},
        {"gradient", {P::GRADIENT, Meaning::Dnn, &M::statedGradient}},
        {"surrogate", {P::SURROGATE, Meaning::Dnn, &M::statedGradient}},
        {"operation", {P::OPERATION, Meaning::Dnn, &M::declares}},
        {"module", {P::MODULE, Meaning::Dnn, &M::declares}},
        {"model", {P::MODEL, Meaning::Dnn, &M::declares}}};
    return table;
  }

  Marker(llvm::StringRef text, ast::Language language, std::vector<Token> &tokens)
      : text(text), isDnn(language == ast::Language::Dnn), tokens(tokens) {}

  void run() {
    for (i = 0; i < tokens.size(); ++i) {
      track();
      if (tokens[i].type == P::IDENT)
        tokens[i].type = typeOf(word(i));
    }
  }

private:
  struct Level {
    size_t opener;
    bool range = false; // a `..` was seen that may be followed by `step`
  };

  size_t at(size_t index) const { return index < tokens.size() ? tokens[index].type : kEnd; }
  llvm::StringRef word(size_t index) const {
    return index < tokens.size() ? text.slice(tokens[index].begin, tokens[index].end) : llvm::StringRef();
  }
  size_t previous() const { return i == 0 ? kEnd : tokens[i - 1].type; }
  bool top() const { return levels.size() == 1; }
  bool inBlock() const { return levels.back().opener == P::LBRACE; }

  void track() {
    size_t type = tokens[i].type;
    if (llvm::is_contained({P::LBRACE, P::LPAREN, P::LBRACKET}, type))
      levels.push_back({type});
    else if (llvm::is_contained({P::RBRACE, P::RPAREN, P::RBRACKET}, type) && levels.size() > 1)
      levels.pop_back();
    else if (llvm::is_contained({P::RANGE, P::COMMA, P::ASSIGN}, type))
      levels.back().range = type == P::RANGE;
  }

  /// A new entry or statement can start here.
  bool atStart() const {
    return i == 0 || previous() == P::LBRACE || previous() == P::COMMA || endsOperand(previous());
  }
  /// After a value, before a value, and not itself the kind or key of a new entry.
  bool clause() const {
    if (!endsOperand(previous()) || !startsOperand(at(i + 1)) || at(i + 1) == P::STRING)
      return false;
    size_t afterNext = at(i + 2);
    return at(i + 1) != P::IDENT || (afterNext != P::ASSIGN && afterNext != P::COLON && afterNext != P::LBRACE);
  }
  /// `scan reverse as r`: a tensor of that name is walked.
  bool isBinding() const { return word(i + 1) == "as" && at(i + 2) == P::IDENT; }

  bool isPath() const {
    if (!inBlock() || !atStart())
      return false;
    if (at(i + 1) == P::IDENT)
      return at(i + 2) != P::ASSIGN && at(i + 2) != P::COLON && at(i + 2) != P::LBRACE;
    size_t k = i + 2;
    while (at(k) == P::IDENT || at(k) == P::COMMA)
      ++k;
    return at(i + 1) == P::LBRACE && at(k) == P::RBRACE && at(k + 1) == P::ARROW;
  }

  /// 128 x 128, rows x (pow2 2..8), but not `core x (…)` or `memory x : dram`.
  bool isCross() const {
    size_t before = previous(), after = at(i + 1);
    bool left = before == P::NUMBER || before == P::IDENT || before == P::RPAREN || before == P::RBRACKET;
    bool right = after == P::NUMBER || after == P::IDENT || after == P::LPAREN;
    bool callOfX = after == P::LPAREN && tokens[i].end == tokens[i + 1].begin && before == P::IDENT;
    return left && right && !callOfX;
  }

  uint16_t typeOf(llvm::StringRef name) const {
    // A label stands between the word and a ':'.
    if (i > 0 && at(i + 1) == P::COLON && previous() >= P::REQUIRE && previous() <= P::MINIMIZE)
      return P::LABEL;
    auto found = words().find(name);
    if (found == words().end() || !found->second.isOf(isDnn) || !(this->*found->second.means)())
      return P::IDENT;
    return found->second.type;
  }

  bool beforeValue() const { return startsOperand(at(i + 1)) && at(i + 1) != P::STRING; }
  bool beforeText() const { return at(i + 1) == P::STRING; }
  bool beforeName() const { return at(i + 1) == P::IDENT; }
  /// `let h = …`, `var x, y = …`: a comma after the names of an entry does not make it one of these.
  bool bindsNames() const {
    size_t end = i + 2;
    while (at(end) == P::COMMA && at(end + 1) == P::IDENT)
      end += 2;
    return atStart() && beforeName() && at(end) == P::ASSIGN;
  }
  bool statedGradient() const { return inBlock() && bindsNames() && at(i + 2) == P::ASSIGN; }
  bool loops() const { return inBlock() && atStart() && beforeValue() && at(i + 1) != P::LBRACE; }
  bool ruleWord() const { return (inBlock() || top()) && atStart() && beforeValue() && at(i + 1) != P::LBRACE; }
  /// `1000 samples/s` is a unit, `0.08 samples 10000` a clause.
  bool sampleClause() const { return clause() || (previous() == P::STRING && at(i + 1) == P::NUMBER); }
  bool textClause() const { return endsOperand(previous()) && beforeText(); }
  bool isStep() const { return levels.back().range && endsOperand(previous()) && beforeValue(); }
  bool isError() const { return at(i + 1) == P::ASSIGN && endsOperand(previous()) && !tokens[i].first; }
  bool isPowers() const { return beforeValue() && at(i + 1) != P::LPAREN; }
  bool isTransposable() const {
    return (previous() == P::RPAREN || previous() == P::RBRACE) && at(i + 1) != P::ASSIGN && at(i + 1) != P::COLON;
  }
  bool isOf() const { return previous() == P::IDENT && (beforeName() || at(i + 1) == P::STAR); }
  bool isFor() const { return beforeName() && previous() != P::FOR; }
  bool isOn() const { return top() && isAs(); }
  bool isAs() const { return endsOperand(previous()) && beforeName(); }
  bool isIn() const { return previous() == P::IDENT && i >= 2 && at(i - 2) == P::FOR; }
  bool isInput() const { return inBlock() && beforeName() && at(i + 2) == P::COLON; }
  bool isReverse() const { return previous() == P::SCAN && beforeValue() && !isBinding(); }
  bool isLoss() const { return inBlock() && atStart() && (beforeName() || at(i + 1) == P::LPAREN); }
  bool declares() const { return top() && beforeName(); }

  llvm::StringRef text;
  bool isDnn;
  std::vector<Token> &tokens;
  std::vector<Level> levels = {{kEnd}};
  size_t i = 0;
};

} // namespace

bool isContextualWord(llvm::StringRef word, ast::Language language) {
  auto found = Marker::words().find(word);
  return found != Marker::words().end() && found->second.isOf(language == ast::Language::Dnn);
}

void markWords(llvm::StringRef text, ast::Language language, std::vector<Token> &tokens) {
  Marker(text, language, tokens).run();
  size_t kept = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].type == P::IF && kept > 0 && tokens[kept - 1].type == P::ELSE) {
      tokens[kept - 1].type = P::ELSE_IF;
      tokens[kept - 1].end = tokens[i].end;
      continue;
    }
    tokens[kept++] = tokens[i];
  }
  tokens.resize(kept);
}

void joinUnits(llvm::StringRef text, ast::Language language, std::vector<Token> &tokens) {
  size_t kept = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token token = tokens[i];
    auto unitAt = [&](size_t k) {
      return k < tokens.size() && tokens[k].type == P::IDENT && tokens[k].line == token.line;
    };
    // `a = 1 b = 2` are two entries, not one in the unit b; `{0 h: 16, 8 h: 8}` has times as keys.
    size_t before = kept > 1 && tokens[kept - 1].type == P::MINUS ? kept - 1 : kept;
    bool first = before > 0 && (tokens[before - 1].type == P::LBRACE || tokens[before - 1].type == P::COMMA);
    bool isKey = i + 2 < tokens.size() &&
                 (tokens[i + 2].type == P::ASSIGN || (tokens[i + 2].type == P::COLON && !first)) &&
                 tokens[i + 1].begin != token.end;
    if (token.type == P::NUMBER && unitAt(i + 1) && !isKey) {
      token.type = P::QUANTITY;
      token.end = tokens[++i].end;
      // B/cycle without blanks is one unit; `16 GiB / n` is a division.
      while (i + 2 < tokens.size() && tokens[i + 1].type == P::SLASH && tokens[i + 1].begin == token.end &&
             tokens[i + 2].type == P::IDENT && tokens[i + 2].begin == tokens[i + 1].end) {
        i += 2;
        token.end = tokens[i].end;
      }
    }
    tokens[kept++] = token;
  }
  tokens.resize(kept);
}

ast::Layout::Kind layoutKind(size_t type) {
  using Kind = ast::Layout::Kind;
  switch (type) {
  case P::IDENT:
  case P::LABEL:
  case P::TRUE:
  case P::FALSE:
    return Kind::Name;
  case P::NUMBER:
  case P::QUANTITY:
    return Kind::Number;
  case P::STRING:
  case P::OPEN_STRING:
    return Kind::Text;
  default:
    break;
  }
  return type < P::IDENT || type > P::OTHER ? Kind::Word : Kind::Symbol;
}

} // namespace accord::syntax
