#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/FormatTree.h"
#include "lib/language/syntax/Tokens.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Unicode.h"

namespace accord {
namespace {
using namespace syntax;
using Kind = ast::Layout::Kind;
using Piece = FormatPiece;

constexpr size_t kColumns = 100;

/// Decides the blanks between the tokens of one entry, which it is shown from left to right.
class Spacing {
public:
  /// True if a blank stands before `piece`.
  bool before(const Piece &piece) {
    bool blank = decide(piece.text, piece.token);
    note(piece);
    return blank;
  }
  /// A line may be broken before `piece` (call before `before`).
  bool breakable(const Piece &piece) const {
    if (count == 0)
      return false;
    if (last == "," && !brackets.empty())
      return true;
    bool binary = !unaryPlace && llvm::is_contained({"+", "-", "/"}, piece.text);
    return binary || llvm::is_contained({"and", "or", "then", "else", "else if"}, piece.text);
  }

private:
  bool decide(llvm::StringRef text, Kind kind) const {
    if (count == 0)
      return false;
    if (pattern && text != "=" && (text == "." || text == "*" || last == "." || last == "*"))
      return lastKind == Kind::Word || (text == "." && last == "."); // else `..`
    if (llvm::is_contained({",", ")", "]", ".", ".."}, text) || llvm::is_contained({"(", "[", ".", ".."}, last) ||
        lastUnary)
      return false;
    bool afterValue = lastKind == Kind::Name || last == ")" || last == "]";
    if (text == "(")
      return !afterValue;
    if (text == "[")
      return !afterValue && lastKind != Kind::Text;
    if (text == "}" || last == "{")
      return false;
    if (text == ":")
      return !(ruleLabel && count == 2) && (brackets.empty() || brackets.back() != '{');
    return true;
  }
  void note(const Piece &piece) {
    llvm::StringRef text = piece.text;
    lastUnary = unaryPlace && (text == "-" || text == "+");
    bool closes = llvm::is_contained({")", "]", "}"}, text);
    if (llvm::is_contained({"(", "[", "{"}, text))
      brackets.push_back(text[0]);
    else if (closes && !brackets.empty())
      brackets.pop_back();
    if (count == 0)
      ruleLabel = llvm::is_contained({"require", "prefer", "maximize", "minimize"}, text);
    if (piece.token == Kind::Word && text == "of")
      pattern = true;
    else if (text == "=")
      pattern = false;
    unaryPlace = !closes && !llvm::is_contained({Kind::Name, Kind::Number, Kind::Text}, piece.token);
    last = piece.text;
    lastKind = piece.token;
    ++count;
  }

  std::string last;
  Kind lastKind = Kind::Symbol;
  std::vector<char> brackets;
  size_t count = 0;
  bool unaryPlace = true, lastUnary = false, pattern = false, ruleLabel = false;
};

size_t width(llvm::StringRef text) {
  int columns = llvm::sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : static_cast<size_t>(columns);
}

class Formatter {
public:
  explicit Formatter(ast::Language language) : language(language) {}

  std::string out;

  void sequence(const std::vector<FormatItem> &items, size_t level) {
    bool previousTall = false;
    std::vector<size_t> pads = padding(items, level);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0 && (items[i].blankBefore || (level == 0 && previousTall)))
        out += '\n';
      size_t lineStart = out.size();
      out.append(level * 2, ' ');
      item(items[i], level, pads[i], needsComma(items, i));
      out += '\n';
      previousTall = llvm::StringRef(out).substr(lineStart).count('\n') > 1;
    }
  }

private:
  /// An entry on one line; nothing if it holds a comment or a block that was written on several
  /// lines.
  static std::optional<std::string> flat(const FormatItem &item) {
    std::string text;
    Spacing spacing;
    for (const Piece &piece : item.pieces) {
      if (piece.kind == Piece::Kind::Token) {
        bool blank = spacing.before(piece);
        text += (blank ? " " : "") + piece.text;
      } else if (piece.kind == Piece::Kind::Block) {
        auto inner = flat(piece.block);
        if (!inner)
          return std::nullopt;
        text += (text.empty() ? "" : " ") + *inner;
        spacing.before(closer());
      } else {
        return std::nullopt;
      }
    }
    return text;
  }
  static std::optional<std::string> flat(const FormatBlock &block) {
    if (!block.openComment.empty() || (!block.oneLine && !block.items.empty()))
      return std::nullopt;
    if (block.items.empty())
      return "{}";
    std::string text;
    for (const FormatItem &item : block.items) {
      auto entry = item.comment ? std::nullopt : flat(item);
      if (!entry)
        return std::nullopt;
      text += (text.empty() ? "{ " : ", ") + *entry;
    }
    return text + " }";
  }
  static Piece closer() { return {Piece::Kind::Token, ")", Kind::Symbol, {}}; } // a block ends like a bracket

  /// The width of the key of `name = value` on one line; 0 for anything else.
  static size_t keyWidth(const FormatItem &item) {
    if (item.comment || item.pieces.size() < 3 || item.pieces[0].kind != Piece::Kind::Token ||
        item.pieces[0].token != Kind::Name || item.pieces[1].text != "=")
      return 0;
    for (size_t i = 0; i < item.pieces.size(); ++i)
      if (item.pieces[i].kind == Piece::Kind::OwnComment || item.pieces[i].kind == Piece::Kind::Block ||
          (item.pieces[i].kind == Piece::Kind::TrailingComment && i + 1 < item.pieces.size()))
        return 0;
    return width(item.pieces[0].text);
  }
  /// For each entry the blanks to add after its key, so that the `=` of neighbouring lines stand
  /// below each other.
  static std::vector<size_t> padding(const std::vector<FormatItem> &items, size_t level) {
    std::vector<size_t> pads(items.size(), 0), keys, widths;
    for (const FormatItem &item : items) {
      keys.push_back(keyWidth(item));
      auto text = keys.back() ? flat(withoutComment(item)) : std::nullopt;
      widths.push_back(text ? level * 2 + width(*text) : kColumns + 1);
    }
    for (size_t first = 0; first < items.size();) {
      size_t end = first + 1, widest = keys[first];
      while (keys[first] && end < items.size() && keys[end] && !items[end].blankBefore)
        widest = std::max(widest, keys[end++]);
      bool fits = keys[first] != 0;
      for (size_t k = first; fits && k < end; ++k)
        fits = widths[k] + widest - keys[k] <= kColumns;
      for (size_t k = first; fits && k < end; ++k)
        pads[k] = widest - keys[k];
      first = end;
    }
    return pads;
  }
  static FormatItem withoutComment(const FormatItem &item) {
    FormatItem bare = item;
    if (bare.pieces.back().kind == Piece::Kind::TrailingComment)
      bare.pieces.pop_back();
    return bare;
  }

  /// A comma that was not written is never needed. One that was written stays where the words at it would mean
  /// something else without it: names that end an entry would go on with those of the next, a name like `pow2` or
  /// `step` that ends an entry or begins the next one could get the meaning that it has between values, and a comment
  /// could read as the rest of a division.
  bool needsComma(const std::vector<FormatItem> &items, size_t i) const {
    if (!items[i].comma || items[i].commentReads)
      return items[i].comma;
    auto entry = [](const FormatItem &item) { return !item.comment; };
    auto next = std::find_if(items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end(), entry);
    if (next == items.end())
      return false;
    auto named = [&](const Piece &piece) {
      const llvm::StringRef unit = llvm::StringRef(piece.text).rsplit(' ').second; // `1 samples`
      return piece.kind == Piece::Kind::Token && (piece.token == Kind::Name     ? isContextualWord(piece.text, language)
                                                  : piece.token == Kind::Number ? isContextualWord(unit, language)
                                                                                : false);
    };
    const std::vector<Piece> &before = items[i].pieces, &after = next->pieces;
    auto token = [](const Piece &piece) { return piece.kind == Piece::Kind::Token; };
    auto last = std::find_if(before.rbegin(), before.rend(), token);
    const bool isKey = after.size() > 1 && (after[1].text == "=" || after[1].text == ":");
    return goesOn(before) || (last != before.rend() && named(*last)) || (!after.empty() && named(after[0]) && !isKey) ||
           endsRange(before, after);
  }
  /// Names alone, or a pattern (`weights of block.*`): more names would belong to it.
  static bool goesOn(const std::vector<Piece> &pieces) {
    bool names = true;
    for (const Piece &piece : pieces)
      if (piece.kind == Piece::Kind::Block)
        names = false;
      else if (piece.kind == Piece::Kind::Token)
        names = piece.token == Kind::Name                         ? names
                : piece.token == Kind::Word && piece.text == "of" ? true
                                                                  : names && (piece.text == "*" || piece.text == ".");
    return names;
  }
  /// After `a = 1..4` the name `step` among the names that begin the next entry would be the step of the range.
  static bool endsRange(const std::vector<Piece> &before, const std::vector<Piece> &after) {
    auto name = [](const Piece &piece) { return piece.kind == Piece::Kind::Token && piece.token == Kind::Name; };
    auto end = std::find_if_not(after.begin(), after.end(), name);
    return llvm::any_of(before, [](const Piece &piece) { return piece.text == ".."; }) &&
           std::any_of(after.begin(), end, [](const Piece &piece) { return piece.text == "step"; });
  }

  size_t column() const {
    size_t start = out.rfind('\n');
    return width(llvm::StringRef(out).substr(start == std::string::npos ? 0 : start + 1));
  }

  /// The columns from piece `i` to the next place where the line may be broken or ends anyway.
  static size_t chunk(const std::vector<Piece> &pieces, size_t i, Spacing spacing) {
    size_t columns = 0;
    for (size_t k = i; k < pieces.size() && pieces[k].kind == Piece::Kind::Token; ++k) {
      if (k > i && spacing.breakable(pieces[k]))
        break;
      columns += (spacing.before(pieces[k]) ? 1 : 0) + width(pieces[k].text);
    }
    return columns;
  }

  void item(const FormatItem &item, size_t level, size_t pad, bool comma) {
    Spacing spacing;
    bool fresh = true; // at the start of a line
    auto newLine = [&](size_t extra) {
      out += '\n';
      out.append(level * 2 + extra, ' ');
      fresh = true;
    };
    size_t last = item.pieces.size() - 1; // token or block; there may be none: beyond all pieces
    while (last < item.pieces.size() && item.pieces[last].kind != Piece::Kind::Token &&
           item.pieces[last].kind != Piece::Kind::Block)
      --last;
    for (size_t i = 0; i < item.pieces.size(); ++i) {
      const Piece &piece = item.pieces[i];
      bool isLast = i + 1 == item.pieces.size();
      switch (piece.kind) {
      case Piece::Kind::OwnComment:
        if (!fresh)
          newLine(4);
        out += piece.text;
        if (!isLast)
          newLine(4);
        break;
      case Piece::Kind::TrailingComment:
        out += (fresh ? "" : "  ") + piece.text;
        if (!isLast)
          newLine(4);
        break;
      case Piece::Kind::Token: {
        if (!fresh && spacing.breakable(piece) && column() + chunk(item.pieces, i, spacing) > kColumns)
          newLine(4);
        bool blank = spacing.before(piece);
        out += (blank && !fresh ? " " : "") + piece.text;
        fresh = false;
        if (i == 0)
          out.append(pad, ' ');
        break;
      }
      case Piece::Kind::Block: {
        if (!fresh)
          out += ' ';
        auto line = flat(piece.block);
        if (line && column() + width(*line) + tail(item.pieces, i + 1, spacing) <= kColumns) {
          out += *line;
        } else {
          out += '{' + (piece.block.openComment.empty() ? "" : "  " + piece.block.openComment) + '\n';
          sequence(piece.block.items, level + 1);
          out.append(level * 2, ' ');
          out += '}';
        }
        fresh = false;
        spacing.before(closer());
        break;
      }
      }
      if (comma && i == last)
        out += ',';
    }
  }
  /// The columns that follow a block on its line (` source "…"`).
  static size_t tail(const std::vector<Piece> &pieces, size_t i, Spacing spacing) {
    size_t columns = 0;
    for (; i < pieces.size() && pieces[i].kind == Piece::Kind::Token; ++i)
      columns += (spacing.before(pieces[i]) ? 1 : 0) + width(pieces[i].text);
    return columns;
  }

  ast::Language language;
};

} // namespace

std::string format(const SourceManager &sources, const ast::File &file) {
  Formatter formatter(file.language);
  formatter.sequence(formatTree(sources, file), 0);
  return std::move(formatter.out);
}

} // namespace accord
