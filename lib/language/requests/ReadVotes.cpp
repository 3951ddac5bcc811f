// Tables of votes: which members were wrong on which sample.
#include "lib/language/requests/Ensembles.h"
#include "lib/language/requests/PatternFiles.h"
#include <fmt/format.h>

namespace accord {
namespace {

constexpr size_t kMaxMembers = 63;
constexpr int64_t kMaxSamples = int64_t(1) << 53;

/// "wide.2": the second of kind wide. "wide" is the first.
struct Column {
  unsigned kind = 0;
  int64_t copy = 1;
  size_t index = 0; ///< in the file
};

std::optional<Column> columnOf(llvm::StringRef text, const EnsembleRequest &request) {
  auto [name, number] = text.rsplit('.');
  Column column;
  if (!number.empty() && (number.getAsInteger(10, column.copy) || column.copy < 1))
    return std::nullopt;
  for (size_t i = 0; i < request.kinds.size(); ++i)
    if (request.kinds[i].name == name) {
      column.kind = i;
      return column;
    }
  return std::nullopt;
}
} // namespace

std::optional<VoteTable> readVotes(const EnsembleRequest &request, Diagnostics &diags) {
  auto main = diags.sources().find(request.votesAt.file);
  SourceRange from = main ? diags.sources().at(*main, {request.votesAt.line, request.votesAt.column}) : SourceRange{};
  auto table = readTable(request.votesFile, from, diags);
  if (!table)
    return std::nullopt;
  size_t before = diags.errors();
  auto reject = [&](SourceRange at, const std::string &message) {
    return diags.error(Code::WrongQualityFile, at, message).note(from, "the file is named here");
  };
  SourceRange head = diags.sources().at(table->file, {1, 1});
  std::vector<Column> columns;
  std::optional<size_t> count;
  std::vector<std::string> names{"count"};
  for (const EnsembleRequest::Kind &kind : request.kinds)
    names.push_back(kind.name);
  for (size_t i = 0; i < table->columns.size(); ++i) {
    auto column = columnOf(table->columns[i], request);
    if (column) {
      column->index = i;
      columns.push_back(*column);
    } else if (table->columns[i] == "count") {
      count = i;
    } else {
      reject(head, fmt::format("column '{}' is no member", table->columns[i]))
          .suggest(nearest(table->columns[i], names));
    }
  }
  llvm::sort(columns,
             [](const Column &a, const Column &b) { return std::tie(a.kind, a.copy) < std::tie(b.kind, b.copy); });
  for (size_t i = 0; i < columns.size(); ++i) {
    bool first = i == 0 || columns[i - 1].kind != columns[i].kind;
    int64_t expected = first ? 1 : columns[i - 1].copy + 1;
    if (columns[i].copy == expected)
      continue;
    const std::string &kind = request.kinds[columns[i].kind].name;
    reject(head, columns[i].copy < expected ? fmt::format("column '{}.{}' is there already", kind, columns[i].copy)
                                            : fmt::format("there is a column '{}.{}', but none '{}.{}'", kind,
                                                          columns[i].copy, kind, expected));
  }
  if (columns.empty() && diags.errors() == before)
    reject(head, "there is no column of a member");
  if (columns.size() > kMaxMembers)
    reject(head, fmt::format("{} columns of members, and at most {} vote", columns.size(), kMaxMembers));
  if (table->rows.empty() && diags.errors() == before)
    reject(head, "there is no vote in this file");
  if (diags.errors() > before)
    return std::nullopt;
  VoteTable votes;
  for (const Column &column : columns)
    votes.kinds.push_back(column.kind);
  for (const calibrate::Record &row : table->rows) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const calibrate::Cell &cell = row[columns[i].index];
      if (cell.text == "0" || cell.text == "wrong")
        wrong |= uint64_t(1) << i;
      else if (cell.text != "1" && cell.text != "right") {
        reject(table->at(diags, cell), fmt::format("'{}' is no vote: 1 or right, 0 or wrong", cell.text));
        return std::nullopt;
      }
    }
    int64_t often = 1;
    if (count && (llvm::StringRef(row[*count].text).getAsInteger(10, often) || often < 0 || often > kMaxSamples)) {
      reject(table->at(diags, row[*count]), fmt::format("'{}' is no number of samples", row[*count].text));
      return std::nullopt;
    }
    if (count && votes.votes.count(wrong)) {
      reject(table->at(diags, row[columns[0].index]), "these votes are counted already");
      return std::nullopt;
    }
    if (often > 0)
      votes.votes[wrong] += often;
    votes.samples += often;
    if (votes.samples > kMaxSamples) {
      reject(table->at(diags, row[columns[0].index]), fmt::format("more than {} samples", kMaxSamples));
      return std::nullopt;
    }
  }
  if (votes.samples == 0) {
    reject(head, "there is no vote in this file");
    return std::nullopt;
  }
  return votes;
}

} // namespace accord
