#include "lib/voting/problem/VoteRows.h"
#include "lib/support/SplitMix.h"
#include "lib/support/documents/Csv.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace accord::voting {
namespace {

constexpr int64_t kMaxRowSamples = int64_t(1) << 53;
constexpr size_t kMaxColumns = 63;

class RowReader {
public:
  explicit RowReader(const std::string &path) : path(path) {}

  Result<VoteRows, Errors> read(const std::vector<calibrate::Record> &records) {
    if (records.size() < 2)
      return Error{Code::WrongQualityFile, "there is no vote in this file", {path, 1, 1}};
    if (auto error = readHead(records.front()))
      return *error;
    for (size_t i = 1; i < records.size(); ++i)
      if (auto error = readLine(records[i], records.front().size()))
        return *error;
    if (rows.samples() == 0)
      return Error{Code::WrongQualityFile, "there is no vote in this file", {path, 1, 1}};
    return std::move(rows);
  }

private:
  Error wrongAt(const calibrate::Cell &cell, const std::string &message) const {
    return {Code::WrongQualityFile, message, {path, cell.line, cell.column}};
  }

  std::optional<Error> readHead(const calibrate::Record &head) {
    for (size_t i = 0; i < head.size(); ++i) {
      const std::string &name = head[i].text;
      if (name == "count") {
        if (count)
          return wrongAt(head[i], "column 'count' is there already");
        count = i;
        continue;
      }
      if (name == "class" || name == "vote") // the true one, and a soft vote of all: they say nothing of who is wrong
        continue;
      if (name.empty() || std::ranges::count(rows.members, name) > 0)
        return wrongAt(head[i],
                       name.empty() ? "a column without a name" : fmt::format("column '{}' is there already", name));
      rows.members.push_back(name);
      columns.push_back(i);
    }
    if (columns.empty() || columns.size() > kMaxColumns)
      return wrongAt(head.front(),
                     fmt::format("{} columns of members, allowed are 1 to {}", columns.size(), kMaxColumns));
    return std::nullopt;
  }

  std::optional<Error> readLine(const calibrate::Record &line, size_t cells) {
    if (line.size() != cells)
      return wrongAt(line.front(), fmt::format("{} cells, and {} columns", line.size(), cells));
    uint64_t wrong = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const calibrate::Cell &cell = line[columns[i]];
      if (cell.text == "0" || cell.text == "wrong")
        wrong |= uint64_t(1) << i;
      else if (cell.text != "1" && cell.text != "right")
        return wrongAt(cell, fmt::format("'{}' is no vote: 1 or right, 0 or wrong", cell.text));
    }
    int64_t often = 1;
    if (count && (llvm::StringRef(line[*count].text).getAsInteger(10, often) || often < 0 || often > kMaxRowSamples))
      return wrongAt(line[*count], fmt::format("'{}' is no number of samples", line[*count].text));
    if (rows.samples() > kMaxRowSamples - often)
      return wrongAt(line.front(), fmt::format("more than {} samples", kMaxRowSamples));
    if (often > 0) {
      rows.end.push_back(rows.samples() + often);
      rows.wrong.push_back(wrong);
    }
    return std::nullopt;
  }

  const std::string &path;
  VoteRows rows;
  std::vector<size_t> columns; ///< of members, in the file
  std::optional<size_t> count;
};

} // namespace

uint64_t VoteRows::wrongOf(int64_t sample) const {
  return wrong[static_cast<size_t>(std::ranges::upper_bound(end, sample) - end.begin())];
}

Result<VoteRows, Errors> readVoteRows(std::string_view text, const std::string &path) {
  auto records = calibrate::readCsv(text, path);
  if (!records)
    return records.takeError();
  return RowReader(path).read(*records);
}

int64_t trueLabel(int64_t sample, int64_t classes) {
  return static_cast<int64_t>(SplitMix(static_cast<uint64_t>(sample)).below(static_cast<uint64_t>(classes)));
}

int64_t wrongLabel(int64_t sample, int64_t classes) { return (trueLabel(sample, classes) + 1) % classes; }

} // namespace accord::voting
