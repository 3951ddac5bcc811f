#include "lib/support/documents/Csv.h"
#include <fmt/format.h>

namespace accord::calibrate {
namespace {

constexpr size_t kMaxErrors = 20;

class Reader {
public:
  Reader(std::string_view text, const std::string &path) : text(text), path(path) {}

  void run() {
    if (text.starts_with("\xEF\xBB\xBF")) // a byte order mark, as spreadsheets write it
      at = lineStart = 3;
    while (at < text.size() && errors.size() < kMaxErrors)
      record();
  }

  std::vector<Record> records;
  Errors errors;

private:
  bool atEnd() const { return at >= text.size(); }
  bool atLineEnd() const { return atEnd() || text[at] == '\n' || text[at] == '\r'; }
  unsigned column() const { return at - lineStart + 1; }

  void complain(unsigned line, unsigned column, std::string message) {
    if (errors.size() < kMaxErrors)
      errors.push_back({Code::BadTable, std::move(message), {path, line, column}, {}});
  }

  void nextLine() {
    if (!atEnd() && text[at] == '\r')
      ++at;
    if (!atEnd() && text[at] == '\n')
      ++at;
    ++line;
    lineStart = at;
  }

  void record() {
    Record cells;
    for (;;) {
      cells.push_back(!atEnd() && text[at] == '"' ? quoted() : plain());
      if (atEnd() || text[at] != ',')
        break;
      ++at;
    }
    if (!atLineEnd()) { // after a complaint: go on with the next line
      while (!atLineEnd())
        ++at;
    }
    nextLine();
    if (cells.size() > 1 || !cells.front().text.empty())
      records.push_back(std::move(cells));
  }

  Cell plain() {
    Cell cell{{}, line, column()};
    size_t start = at;
    while (!atLineEnd() && text[at] != ',') {
      unsigned char c = text[at];
      if ((c < 0x20 && c != '\t') || c == 0x7F) {
        complain(line, column(), fmt::format("byte 0x{:02x} in a table of text", c));
        break;
      }
      if (c == '"') {
        complain(line, column(), "a quote inside of a cell that does not start with one");
        break;
      }
      ++at;
    }
    std::string_view found = text.substr(start, at - start);
    size_t first = found.find_first_not_of(" \t"), last = found.find_last_not_of(" \t");
    if (first != found.npos)
      cell.text = found.substr(first, last - first + 1);
    return cell;
  }

  Cell quoted() {
    Cell cell{{}, line, column()};
    for (++at;; ++at) {
      if (atEnd()) {
        complain(cell.line, cell.column, "a quote that never ends");
        return cell;
      }
      char c = text[at];
      if (c == '"') {
        if (at + 1 >= text.size() || text[at + 1] != '"')
          break;
        ++at;
      }
      if (c == '\n') {
        ++line;
        lineStart = at + 1;
      }
      if (c == '\0') {
        complain(line, column(), "byte 0x00 in a table of text");
        return cell;
      }
      cell.text += c;
    }
    ++at;
    if (!atLineEnd() && text[at] != ',')
      complain(line, column(), "text behind a closing quote; a quote in a cell is written twice");
    return cell;
  }

  std::string_view text;
  const std::string &path;
  size_t at = 0, lineStart = 0;
  unsigned line = 1;
};

} // namespace

Result<std::vector<Record>, Errors> readCsv(std::string_view text, const std::string &path) {
  if (text.size() > kLargestText)
    return std::vector{Error{
        Code::BadTable, fmt::format("{} bytes, a table has {} at most", text.size(), kLargestText), {path, 1, 1}, {}}};
  Reader reader(text, path);
  reader.run();
  if (!reader.errors.empty())
    return std::move(reader.errors);
  return std::move(reader.records);
}

std::string csvCell(std::string_view text) {
  const bool isPlain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                       (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (isPlain)
    return std::string(text);
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

} // namespace accord::calibrate
