// Text -> tokens; documentation comments; brackets that do not match.
#include "grammar/AccelParser.h"
#include "grammar/DnnParser.h"
#include "lib/language/syntax/Tokens.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace accord::syntax {
using grammar::AccelParser;
using P = grammar::DnnParser;
// One set of token types serves both languages.
static_assert(size_t(AccelParser::MODEL) == size_t(P::MODEL) && size_t(AccelParser::QUANTITY) == size_t(P::QUANTITY) &&
              size_t(AccelParser::IDENT) == size_t(P::IDENT));

std::vector<Token> lex(Diagnostics &diags, FileId file, std::vector<ast::Comment> &comments) {
  llvm::StringRef text = diags.sources().text(file);
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 4);
  uint32_t line = 1, lastLine = 0, skipped = 0;
  bool foreign = false; // the last token is a name with letters the language does not have
  size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; // a byte order mark is no text
  while (at < text.size()) {
    char c = text[at];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line += c == '\n' || (c == '\r' && !text.substr(at + 1).starts_with("\n"));
      ++at;
      continue;
    }
    Scanned scanned = scan(text, at);
    Token token;
    token.type = scanned.type;
    token.begin = at;
    token.end = scanned.end;
    token.line = line;
    at = scanned.end;
    SourceRange range{file, token.begin, token.end};
    if (line == skipped)
      continue;
    if (token.type == P::COMMENT) {
      bool doc = token.end - token.begin >= 3 && text[token.begin + 2] == '/' &&
                 !(token.end - token.begin > 3 && text[token.begin + 3] == '/');
      comments.push_back({range, doc});
      continue;
    }
    bool adjacent = !tokens.empty() && tokens.back().end == token.begin;
    if (foreign && adjacent && (token.type == P::IDENT || token.type == P::NUMBER)) {
      tokens.back().end = token.end;
      continue;
    }
    if (token.type == P::OTHER && static_cast<unsigned char>(text[token.begin]) >= 0x80) {
      // größe: one name and one error, not four of them.
      if (!foreign || !adjacent)
        diags.error(Code::BadCharacter, range,
                    "names are made of ASCII letters, digits and '_', and '" + diags.sources().text(range).str() +
                        "' is none");
      foreign = true;
      if (adjacent && tokens.back().type == P::IDENT) {
        tokens.back().end = token.end;
        continue;
      }
      token.type = P::IDENT;
    } else {
      foreign = false;
    }
    if (token.type == P::OTHER) {
      llvm::StringRef character = text.slice(token.begin, token.end);
      auto error = diags.error(Code::BadCharacter, range, "the language has no character '" + character.str() + "'");
      if (character == ";")
        error.help("entries are separated by new lines or ','");
      else if (character == "'")
        error.help("texts stand in double quotes");
      else if (character == "#") {
        error.help("comments start with '//'");
        skipped = line; // the rest of it was meant as one
      }
      continue;
    }
    if (token.type == P::OPEN_STRING) {
      diags.error(Code::UnclosedText, range, "this text is not closed on its line");
      token.type = P::STRING;
    }
    token.first = line != lastLine;
    lastLine = line;
    tokens.push_back(token);
  }
  return tokens;
}

/// Brackets and their texts; each opening one before its closing one.
static constexpr std::pair<uint16_t, const char *> kBrackets[] = {
    {P::LBRACE, "{"}, {P::RBRACE, "}"}, {P::LPAREN, "("}, {P::RPAREN, ")"}, {P::LBRACKET, "["}, {P::RBRACKET, "]"}};
static auto bracketOf(size_t type) {
  return llvm::find_if(kBrackets, [&](const auto &bracket) { return bracket.first == type; });
}
static uint16_t closerOf(size_t opener) { return std::next(bracketOf(opener))->first; }
static const char *spell(size_t type) { return bracketOf(type)->second; }
static bool isOpener(size_t type) { return type == P::LBRACE || type == P::LPAREN || type == P::LBRACKET; }
static bool isCloser(size_t type) { return type == P::RBRACE || type == P::RPAREN || type == P::RBRACKET; }

static bool endsValue(size_t type) {
  return type == P::IDENT || type == P::NUMBER || type == P::STRING || type == P::TRUE || type == P::FALSE ||
         isCloser(type);
}

/// Words that can follow a value within brackets.
static bool goesOn(llvm::StringRef text, const Token &token) {
  llvm::StringRef word = text.slice(token.begin, token.end);
  return llvm::StringSwitch<bool>(word)
      .Cases({"x", "step", "per", "weight", "confidence", "samples", "transposable", "source", "from"}, true)
      .Default(false);
}

/// `clock =` at the end of a line, and the next line is an entry of its own.
static bool lacksValue(llvm::ArrayRef<Token> tokens, size_t i, llvm::ArrayRef<Token> open) {
  if (i == 0 || i + 1 >= tokens.size() || !tokens[i].first || tokens[i].type != P::IDENT ||
      tokens[i + 1].type != P::ASSIGN || (!open.empty() && open.back().type != P::LBRACE))
    return false;
  size_t before = tokens[i - 1].type;
  return before >= P::EQ && before <= P::CARET;
}

bool balance(Diagnostics &diags, FileId file, std::vector<Token> &tokens, bool &balanced) {
  std::vector<Token> result, open;
  result.reserve(tokens.size());
  auto close = [&](const Token &at, bool atEnd) {
    const Token &opener = open.back();
    SourceRange here{file, at.begin, atEnd ? at.begin : at.end};
    const char *what = opener.type == P::LBRACE ? "block" : "bracket";
    diags
        .error(Code::UnclosedBracket, here,
               std::string("expected '") + spell(closerOf(opener.type)) + "' to close the " + what + " opened here" +
                   (atEnd ? std::string(", found the end of the file")
                          : ", found '" + diags.sources().text({file, at.begin, at.end}).str() + "'"))
        .note({file, opener.begin, opener.end}, std::string("'") + spell(opener.type) + "' opened here");
    Token added = at;
    added.type = closerOf(opener.type);
    added.end = added.begin;
    added.first = false;
    result.push_back(added);
    open.pop_back();
    balanced = false;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    // Inside round and square brackets no block and no new entry can start: the bracket was
    // forgotten.
    while (!open.empty() && open.back().type != P::LBRACE && i > 0 && endsValue(tokens[i - 1].type) &&
           (token.type == P::LBRACE ||
            (token.first && token.type == P::IDENT && !goesOn(diags.sources().text(file), token))))
      close(token, false);
    if (lacksValue(tokens, i, open)) {
      diags.error(Code::SyntaxError, {file, tokens[i - 1].begin, tokens[i - 1].end},
                  "expected a value after '" +
                      diags.sources().text(file).slice(tokens[i - 1].begin, tokens[i - 1].end).str() + "'");
      Token missing = token;
      missing.type = P::NUMBER;
      missing.end = missing.begin;
      missing.line = tokens[i - 1].line;
      missing.first = false;
      result.push_back(missing);
    }
    if (isOpener(token.type)) {
      open.push_back(token);
      if (open.size() > kMaxDepth) {
        diags
            .error(Code::NestedTooDeep, {file, token.begin, token.end},
                   "more than " + std::to_string(kMaxDepth) + " brackets are open here")
            .note({file, open[0].begin, open[0].end}, "the first of them");
        return false;
      }
    } else if (isCloser(token.type)) {
      if (llvm::none_of(open, [&](const Token &o) { return closerOf(o.type) == token.type; })) {
        balanced = false;
        // `f(x]`: one mistake, not a bracket too many and one too few.
        if (!open.empty() && open.back().type != P::LBRACE && token.type != P::RBRACE)
          close(token, false);
        else
          diags.error(Code::UnclosedBracket, {file, token.begin, token.end},
                      std::string("'") + spell(token.type) + "' closes nothing");
        continue;
      }
      while (closerOf(open.back().type) != token.type)
        close(token, false);
      open.pop_back();
    }
    result.push_back(token);
  }
  if (!open.empty()) {
    Token end;
    llvm::StringRef text = diags.sources().text(file).rtrim();
    end.begin = end.end = text.size();
    end.line = result.back().line;
    while (!open.empty())
      close(end, true);
  }
  tokens = std::move(result);
  return true;
}

/// Joins the documentation comments that stand directly before a token.
static void attachDocs(llvm::StringRef text, TokenList &list) {
  size_t next = 0;
  for (uint32_t i = 0; i < list.tokens.size() && next < list.comments.size(); ++i) {
    std::string doc;
    for (; next < list.comments.size() && list.comments[next].range.begin < list.tokens[i].begin; ++next) {
      const ast::Comment &comment = list.comments[next];
      if (!comment.documentation)
        continue;
      llvm::StringRef line = text.slice(comment.range.begin + 3, comment.range.end).rtrim();
      line.consume_front(" ");
      doc += (doc.empty() ? "" : "\n") + line.str();
    }
    if (!doc.empty())
      list.docs[i] = std::move(doc);
  }
}

llvm::StringRef leadingAtom(llvm::StringRef text) {
  return text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}

bool readsAsDivisor(llvm::StringRef body, bool inBracket, const llvm::StringSet<> &names) {
  while (true) {
    llvm::StringRef atom = leadingAtom(body);
    if (atom.empty() || (!llvm::all_of(atom, llvm::isDigit) && !names.contains(atom)))
      return false;
    body = body.drop_front(atom.size()).ltrim();
    if (body.empty() || (inBracket && llvm::StringRef(",)]").contains(body[0])))
      return true;
    if (llvm::StringRef("})]").contains(body[0]))
      return body.ltrim("}]), ").empty();
    if (!llvm::StringRef("+-*/%^").contains(body[0]))
      return false;
    body = body.drop_front().ltrim();
  }
}

/// `layers // 2` would silently be `layers`: a comment right after a value that reads as the rest
/// of a division is an error.
static void findMistakenDivision(Diagnostics &diags, FileId file, const TokenList &list) {
  llvm::StringRef text = diags.sources().text(file);
  llvm::StringSet<> names;
  size_t next = 0, brackets = 0;
  for (const ast::Comment &comment : list.comments) {
    for (; next < list.tokens.size() && list.tokens[next].begin < comment.range.begin; ++next) {
      size_t type = list.tokens[next].type;
      brackets += type == P::LPAREN || type == P::LBRACKET;
      brackets -= brackets > 0 && (type == P::RPAREN || type == P::RBRACKET);
    }
    size_t before = next == 0 ? P::COMMA : list.tokens[next - 1].type;
    if (comment.documentation || before == P::RBRACE || before == P::STRING || !endsValue(before) ||
        text.slice(list.tokens[next - 1].end, comment.range.begin).contains('\n'))
      continue;
    llvm::StringRef body = text.slice(comment.range.begin + 2, comment.range.end).trim();
    if (leadingAtom(body).empty())
      continue;
    if (names.empty())
      for (const Token &token : list.tokens)
        if (token.type == P::IDENT)
          names.insert(text.slice(token.begin, token.end));
    if (readsAsDivisor(body, brackets > 0, names))
      diags.error(Code::CommentNotDivision, comment.range, "'//' starts a comment, so nothing is divided here")
          .help("write floor_div(a, " + leadingAtom(body).str() + "), or put the comment on a line of its own");
  }
}

bool tokenize(Diagnostics &diags, FileId file, ast::Language language, TokenList &result) {
  result.tokens = lex(diags, file, result.comments);
  findMistakenDivision(diags, file, result);
  if (!balance(diags, file, result.tokens, result.brackets))
    return false;
  llvm::StringRef text = diags.sources().text(file);
  markWords(text, language, result.tokens);
  joinUnits(text, language, result.tokens);
  attachDocs(text, result);
  return true;
}

} // namespace accord::syntax
