#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace llvm;
namespace accord {

TextStyle TextStyle::of(const raw_ostream &out) {
  TextStyle style;
  const char *term = std::getenv("TERM");
  style.colour = out.is_displayed() && !std::getenv("NO_COLOR") && !(term && StringRef(term) == "dumb");
  for (const char *name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char *locale = std::getenv(name); locale && *locale) {
      style.unicode = StringRef(locale).contains_insensitive("utf");
      break;
    }
  if (out.is_displayed())
    if (unsigned columns = sys::Process::StandardOutColumns(); columns >= 40)
      style.width = std::min(columns, 140u);
  return style;
}

std::string inked(const TextStyle &style, Ink ink, const std::string &text) {
  static constexpr const char *kCodes[] = {"1", "2", "31", "32", "33"};
  return style.colour ? "\x1b[" + std::string(kCodes[to_underlying(ink)]) + "m" + text + "\x1b[0m" : text;
}

std::string shareBar(const TextStyle &style, double share, unsigned width) {
  share = std::clamp(share, 0.0, 1.0);
  std::string bar;
  if (!style.unicode) {
    unsigned full = std::lround(share * width);
    return std::string(full, '#') + std::string(width - full, '-');
  }
  static constexpr const char *kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  unsigned eighths = std::lround(share * width * 8), cells = 0;
  for (; cells < eighths / 8; ++cells)
    bar += "█";
  if (eighths % 8)
    bar += kEighths[eighths % 8], ++cells;
  for (; cells < width; ++cells)
    bar += "·";
  return bar;
}

size_t columnsOf(StringRef text) {
  size_t columns = 0;
  bool escape = false;
  for (unsigned char c : text) {
    if (c == 0x1b)
      escape = true;
    else if (escape)
      escape = c != 'm';
    else
      columns += (c & 0xc0) != 0x80;
  }
  return columns;
}

std::string shortened(const std::string &text, size_t width, const TextStyle &style) {
  if (columnsOf(text) <= width)
    return text;
  std::string dots = style.unicode ? "…" : "..";
  size_t keep = width > columnsOf(dots) ? width - columnsOf(dots) : 0, head = keep / 3, tail = keep - head;
  auto boundary = [&](size_t characters) { // byte offset after so many characters
    size_t at = 0;
    for (; at < text.size() && characters; --characters)
      do
        ++at;
      while (at < text.size() && (text[at] & 0xc0) == 0x80);
    return at;
  };
  return text.substr(0, boundary(head)) + dots + text.substr(boundary(columnsOf(text) - tail));
}

std::string wrapped(StringRef text, const std::string &indent, const TextStyle &style) {
  std::string out, line;
  SmallVector<StringRef> words;
  SplitString(text, words, " \n");
  for (StringRef word : words) {
    if (!line.empty() && columnsOf(indent) + columnsOf(line) + 1 + columnsOf(word) > style.width) {
      out += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word.str();
  }
  return line.empty() ? out : out + indent + line + "\n";
}

TextTable::TextTable(std::string alignment, std::vector<std::string> heading)
    : alignment(std::move(alignment)), heading(std::move(heading)) {}

void TextTable::row(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

std::string TextTable::text(const TextStyle &style) const {
  std::vector<size_t> width(heading.size());
  auto measure = [&](const std::vector<std::string> &cells) {
    for (size_t c = 0; c < cells.size() && c < width.size(); ++c)
      width[c] = std::max(width[c], columnsOf(cells[c]));
  };
  measure(heading);
  for (const auto &cells : rows)
    measure(cells);
  size_t total = 2 * (width.size() - 1);
  for (size_t w : width)
    total += w;
  if (total > style.width)
    width[0] = std::min(width[0], std::max<size_t>(12, width[0] - std::min(width[0], total - style.width)));
  std::string out;
  auto print = [&](const std::vector<std::string> &cells, bool dim) {
    std::string line;
    for (size_t c = 0; c < width.size(); ++c) {
      std::string cell = c < cells.size() ? cells[c] : "";
      if (c == 0)
        cell = shortened(cell, width[0], style);
      std::string pad(width[c] - std::min(width[c], columnsOf(cell)), ' ');
      line += (c ? "  " : "") + (alignment[c] == 'r' ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (dim ? inked(style, Ink::Dim, line) : line) + "\n";
  };
  print(heading, true);
  for (const auto &cells : rows)
    print(cells, false);
  return out;
}

} // namespace accord
