#include "lib/language/syntax/FormatTree.h"
#include "lib/language/syntax/Tokens.h"
#include "lib/support/Number.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace accord::syntax {
namespace {
using Kind = ast::Layout::Kind;
using Piece = FormatPiece;

/// "16GiB" -> "16 GiB"
std::string spaced(llvm::StringRef number) {
  const llvm::StringRef hexadecimal = leadingHexadecimal(number);
  const size_t end = (hexadecimal.empty() ? leadingNumber(number) : hexadecimal).size();
  llvm::StringRef unit = number.substr(end).trim();
  return number.take_front(end).str() + (unit.empty() ? "" : " " + unit.str());
}

class Reader {
public:
  Reader(const SourceManager &sources, const ast::File &file) : sources(sources), file(file) {
    starts.insert(file.layout.starts.begin(), file.layout.starts.end());
    blocks.insert(file.layout.blocks.begin(), file.layout.blocks.end());
  }

  std::vector<FormatItem> sequence() {
    std::vector<FormatItem> items;
    while (true) {
      while (comment < file.comments.size() && (at >= count() || begin(at) > file.comments[comment].range.begin)) {
        FormatItem item;
        item.comment = true;
        item.blankBefore = blankBefore(file.comments[comment].range.begin);
        item.pieces.push_back(takeComment(Piece::Kind::OwnComment));
        items.push_back(std::move(item));
      }
      if (at >= count() || text(at) == "}")
        return items;
      items.push_back(item());
    }
  }

private:
  size_t count() const { return file.layout.tokens.size(); }
  uint32_t begin(size_t i) const { return file.layout.tokens[i].range.begin; }
  llvm::StringRef text(size_t i) const { return sources.text(file.layout.tokens[i].range); }
  llvm::StringRef between(uint32_t from, uint32_t to) const { return sources.text(file.id).slice(from, to); }
  /// Lines of '\r' alone, '\n' or "\r\n".
  static size_t lineEnds(llvm::StringRef gap) {
    size_t lines = 0;
    for (size_t i = 0; i < gap.size(); ++i)
      lines += gap[i] == '\n' || (gap[i] == '\r' && (i + 1 == gap.size() || gap[i + 1] != '\n'));
    return lines;
  }
  bool blankBefore(uint32_t offset) const { return lineEnds(between(lastEnd, offset)) > 1; }
  bool commentBefore(uint32_t offset) const {
    return comment < file.comments.size() && file.comments[comment].range.begin < offset;
  }
  bool commentOnThisLine() const {
    return comment < file.comments.size() && file.comments[comment].range.begin >= lastEnd &&
           (at >= count() || file.comments[comment].range.begin < begin(at)) &&
           lineEnds(between(lastEnd, file.comments[comment].range.begin)) == 0;
  }
  Piece takeComment(Piece::Kind kind) {
    Piece piece{kind, sources.text(file.comments[comment].range).rtrim().str(), Kind::Symbol, {}};
    lastEnd = file.comments[comment].range.end;
    ++comment;
    return piece;
  }

  FormatItem item() {
    FormatItem result;
    result.blankBefore = blankBefore(begin(at));
    unsigned depth = 0;
    for (bool first = true; at < count(); first = false) {
      if (depth == 0 && (text(at) == "}" || (!first && (starts.contains(begin(at)) || takeComma(result))))) {
        // One comment per line: a second one, after the comma, stands on its own.
        bool taken = !result.pieces.empty() && result.pieces.back().kind == Piece::Kind::TrailingComment;
        return taken ? result : endLine(std::move(result));
      }
      while (!first && commentBefore(begin(at)))
        result.pieces.push_back(
            takeComment(commentOnThisLine() ? Piece::Kind::TrailingComment : Piece::Kind::OwnComment));
      llvm::StringRef word = text(at);
      if (word == "{" && blocks.contains(begin(at))) {
        result.pieces.push_back(block());
        continue;
      }
      if (word == "(" || word == "[" || word == "{")
        ++depth;
      else if (word == ")" || word == "]" || word == "}")
        --depth;
      result.pieces.push_back(takeToken());
    }
    return endLine(std::move(result));
  }

  /// The entry with the comment that follows it on its line.
  FormatItem endLine(FormatItem item) {
    if (commentOnThisLine())
      addTrailingComment(item);
    return item;
  }

  void addTrailingComment(FormatItem &item) {
    const bool value = !item.pieces.empty() && item.pieces.back().kind == Piece::Kind::Token &&
                       item.pieces.back().token != Kind::Text && item.pieces.back().text != "}";
    Piece piece = takeComment(Piece::Kind::TrailingComment);
    llvm::StringRef body = llvm::StringRef(piece.text).drop_front(2).trim();
    item.commentReads = item.comma && value && !leadingAtom(body).empty() && readsAsDivisor(body, false, names());
    item.pieces.push_back(std::move(piece));
  }

  /// The names of the file and the units of its numbers.
  const llvm::StringSet<> &names() {
    if (known.empty())
      for (const ast::Layout::Token &token : file.layout.tokens)
        if (token.kind != Kind::Text)
          for (llvm::StringRef rest = sources.text(token.range); !rest.empty();) {
            llvm::StringRef atom = leadingAtom(rest);
            known.insert(atom);
            rest = rest.drop_front(std::max<size_t>(atom.size(), 1));
          }
    return known;
  }

  /// Skips the comma that ends an entry: it is set anew. A comment before it belongs to the entry; a second one stands
  /// on its own, as it will without the comma.
  bool takeComma(FormatItem &item) {
    if (text(at) != "," || (at + 1 < count() && !starts.contains(begin(at + 1)) && text(at + 1) != "}"))
      return false;
    const bool taken = !item.pieces.empty() && item.pieces.back().kind == Piece::Kind::TrailingComment;
    item.comma = true;
    if (!taken && commentBefore(begin(at)))
      addTrailingComment(item);
    lastEnd = file.layout.tokens[at++].range.end;
    return true;
  }

  Piece takeToken() {
    llvm::StringRef word = text(at);
    Kind kind = file.layout.tokens[at].kind;
    std::string shown = kind == Kind::Number                                                ? spaced(word)
                        : word.starts_with("else") && kind == Kind::Word && word.size() > 4 ? "else if"
                                                                                            : word.str();
    lastEnd = file.layout.tokens[at++].range.end;
    return {Piece::Kind::Token, std::move(shown), kind, {}};
  }

  Piece block() {
    Piece piece{Piece::Kind::Block, "", Kind::Symbol, {}};
    uint32_t open = begin(at);
    lastEnd = file.layout.tokens[at++].range.end;
    if (commentOnThisLine())
      piece.block.openComment = takeComment(Piece::Kind::TrailingComment).text;
    piece.block.items = sequence();
    if (at < count()) {
      piece.block.oneLine = lineEnds(between(open, begin(at))) == 0;
      lastEnd = file.layout.tokens[at++].range.end;
    }
    return piece;
  }

  const SourceManager &sources;
  const ast::File &file;
  llvm::DenseSet<uint32_t> starts, blocks;
  llvm::StringSet<> known;
  size_t at = 0, comment = 0;
  uint32_t lastEnd = 0;
};

} // namespace

std::vector<FormatItem> formatTree(const SourceManager &sources, const ast::File &file) {
  return Reader(sources, file).sequence();
}

} // namespace accord::syntax
