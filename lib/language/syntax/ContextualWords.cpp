// Words that mean something only at certain places: `step`, `per`, `import`, `x` … are ordinary
// names everywhere else.
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Tokens.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

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
    switch (tokens[i].type) {
    case P::LBRACE:
    case P::LPAREN:
    case P::LBRACKET:
      levels.push_back({tokens[i].type});
      break;
    case P::RBRACE:
    case P::RPAREN:
    case P::RBRACKET:
      if (levels.size() > 1)
        levels.pop_back();
      break;
    case P::RANGE:
      levels.back().range = true;
      break;
    case P::COMMA:
    case P::ASSIGN:
      levels.back().range = false;
      break;
    default:
      break;
    }
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
  static uint16_t when(bool condition, uint16_t type) { return condition ? type : P::IDENT; }

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
    uint16_t type = commonType(name);
    if (type != P::IDENT)
      return type;
    return isDnn ? dnnType(name) : when(name == "x" && isCross(), P::CROSS);
  }

  /// Words of both languages.
  uint16_t commonType(llvm::StringRef name) const {
    size_t next = at(i + 1);
    return llvm::StringSwitch<uint16_t>(name)
        .Case("import", when(next == P::STRING, P::IMPORT))
        .Case("let", when(bindsNames(), P::LET))
        .Case("require", when(ruleWord(), P::REQUIRE))
        .Case("prefer", when(ruleWord(), P::PREFER))
        .Case("maximize", when(ruleWord(), P::MAXIMIZE))
        .Case("minimize", when(ruleWord(), P::MINIMIZE))
        .Case("path", when(isPath(), P::PATH))
        .Case("source", when(endsOperand(previous()) && next == P::STRING, P::SOURCE))
        .Case("from", when(endsOperand(previous()) && next == P::STRING, P::FROM))
        .Case("per", when(clause(), P::PER))
        .Case("weight", when(clause(), P::WEIGHT))
        .Case("confidence", when(clause(), P::CONFIDENCE))
        .Case("samples", when(sampleClause(), P::SAMPLES))
        .Case("step", when(levels.back().range && endsOperand(previous()) && beforeValue(), P::STEP))
        .Case("error", when(next == P::ASSIGN && endsOperand(previous()) && !tokens[i].first, P::ERROR))
        .Case("pow2", when(beforeValue() && next != P::LPAREN, P::POW2))
        .Case("transposable", when((previous() == P::RPAREN || (previous() == P::RBRACE && next != P::COMMA)) &&
                                       next != P::ASSIGN && next != P::COLON,
                                   P::TRANSPOSABLE))
        .Case("of", when(previous() == P::IDENT && (next == P::IDENT || next == P::STAR), P::OF))
        .Case("for", when(next == P::IDENT && previous() != P::FOR, P::FOR))
        .Case("on", when(top() && endsOperand(previous()) && next == P::IDENT, P::ON))
        .Default(P::IDENT);
  }

  /// Words of `.dnn` alone.
  uint16_t dnnType(llvm::StringRef name) const {
    size_t next = at(i + 1), afterNext = at(i + 2);
    return llvm::StringSwitch<uint16_t>(name)
        .Case("input", when(inBlock() && next == P::IDENT && afterNext == P::COLON, P::INPUT))
        .Case("var", when(bindsNames(), P::VAR))
        .Case("repeat", when(loops(), P::REPEAT))
        .Case("scan", when(loops(), P::SCAN))
        .Case("reverse", when(previous() == P::SCAN && beforeValue() && !isBinding(), P::REVERSE))
        .Case("loss", when(inBlock() && atStart() && (next == P::IDENT || next == P::LPAREN), P::LOSS))
        .Case("in", when(previous() == P::IDENT && i >= 2 && at(i - 2) == P::FOR, P::IN))
        .Case("as", when(endsOperand(previous()) && next == P::IDENT, P::AS))
        .Case("gradient", when(statedGradient(), P::GRADIENT))
        .Case("surrogate", when(statedGradient(), P::SURROGATE))
        .Case("operation", when(top() && next == P::IDENT, P::OPERATION))
        .Case("module", when(top() && next == P::IDENT, P::MODULE))
        .Case("model", when(top() && next == P::IDENT, P::MODEL))
        .Default(P::IDENT);
  }

  bool beforeValue() const { return startsOperand(at(i + 1)) && at(i + 1) != P::STRING; }
  /// `let h = …`, `var x, y = …`.
  bool bindsNames() const {
    return atStart() && at(i + 1) == P::IDENT && (at(i + 2) == P::ASSIGN || at(i + 2) == P::COMMA);
  }
  bool statedGradient() const { return inBlock() && bindsNames() && at(i + 2) == P::ASSIGN; }
  bool loops() const { return inBlock() && atStart() && beforeValue() && at(i + 1) != P::LBRACE; }
  bool ruleWord() const { return (inBlock() || top()) && atStart() && beforeValue() && at(i + 1) != P::LBRACE; }
  /// `1000 samples/s` is a unit, `0.08 samples 10000` a clause.
  bool sampleClause() const { return clause() || (previous() == P::STRING && at(i + 1) == P::NUMBER); }

  llvm::StringRef text;
  bool isDnn;
  std::vector<Token> &tokens;
  std::vector<Level> levels = {{kEnd}};
  size_t i = 0;
};

} // namespace

bool isContextualWord(llvm::StringRef word, ast::Language language) {
  static const llvm::StringRef both[] = {
      "import", "let",  "require", "prefer",     "maximize", "minimize", "path",         "source", "from", "per",
      "weight", "step", "error",   "confidence", "pow2",     "samples",  "transposable", "of",     "for",  "on"};
  static const llvm::StringRef dnn[] = {"input", "var",       "repeat",   "loss",      "in",   "as",     "module",
                                        "model", "operation", "gradient", "surrogate", "scan", "reverse"};
  return llvm::is_contained(both, word) ||
         (language == ast::Language::Dnn ? llvm::is_contained(dnn, word) : word == "x");
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
    // `a = 1 b = 2` are two entries, not one in the unit b.
    bool isKey = i + 2 < tokens.size() && (tokens[i + 2].type == P::ASSIGN || tokens[i + 2].type == P::COLON) &&
                 i + 1 < tokens.size() && tokens[i + 1].begin != token.end;
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
