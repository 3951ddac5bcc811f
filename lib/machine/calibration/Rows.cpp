#include "lib/machine/calibration/Rows.h"
#include "lib/support/Number.h"
#include "lib/support/documents/Csv.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::calibrate {
namespace {

enum class Kind : uint8_t { Count, Number, Text };
struct Column {
  const char *name;
  Kind kind;
  std::optional<double> Row::*number = nullptr;
  std::string Row::*text = nullptr;
};

#define ACCORD_TEXT(name)                                                                                              \
  Column { #name, Kind::Text, nullptr, &Row::name }
#define ACCORD_COUNT(name)                                                                                             \
  Column { #name, Kind::Count, &Row::name }
#define ACCORD_NUMBER(name)                                                                                            \
  Column { #name, Kind::Number, &Row::name }
#define ACCORD_NOTE(name)                                                                                              \
  Column { name, Kind::Text }
const Column kColumns[] = {ACCORD_TEXT(id),
                           ACCORD_NOTE("tier"),
                           ACCORD_NOTE("split"),
                           ACCORD_TEXT(family),
                           ACCORD_TEXT(model),
                           ACCORD_NOTE("params_b"),
                           ACCORD_COUNT(layers),
                           ACCORD_COUNT(hidden),
                           ACCORD_COUNT(ffn),
                           ACCORD_COUNT(heads),
                           ACCORD_COUNT(kv_heads),
                           ACCORD_COUNT(vocab),
                           ACCORD_COUNT(seq_len),
                           ACCORD_TEXT(call),
                           ACCORD_TEXT(file),
                           ACCORD_TEXT(serving),
                           ACCORD_NOTE("prompt"),
                           ACCORD_NOTE("output"),
                           ACCORD_TEXT(attn_kernel),
                           ACCORD_TEXT(mlp_kind),
                           ACCORD_NOTE("arch_notes"),
                           ACCORD_TEXT(accelerator),
                           ACCORD_COUNT(n_devices),
                           ACCORD_COUNT(devices_per_node),
                           ACCORD_NOTE("intra_node"),
                           ACCORD_NOTE("inter_node"),
                           ACCORD_NUMBER(inter_node_GBps_per_dev),
                           ACCORD_TEXT(precision),
                           ACCORD_TEXT(optimizer),
                           ACCORD_COUNT(tp),
                           ACCORD_COUNT(pp),
                           ACCORD_COUNT(vpp),
                           ACCORD_COUNT(dp),
                           ACCORD_COUNT(cp),
                           ACCORD_COUNT(ep),
                           ACCORD_TEXT(zero_stage),
                           ACCORD_TEXT(seq_parallel),
                           ACCORD_TEXT(recompute),
                           ACCORD_COUNT(global_batch),
                           ACCORD_COUNT(micro_batch),
                           ACCORD_COUNT(grad_accum),
                           ACCORD_TEXT(metric),
                           ACCORD_NUMBER(value),
                           ACCORD_TEXT(unit),
                           ACCORD_NUMBER(step_time_s),
                           ACCORD_NUMBER(model_pflop_per_step),
                           ACCORD_NOTE("mem_gb_per_dev"),
                           ACCORD_TEXT(framework),
                           ACCORD_TEXT(source),
                           ACCORD_NOTE("locator"),
                           ACCORD_NOTE("evidence"),
                           ACCORD_TEXT(quality),
                           ACCORD_NOTE("notes")};
#undef ACCORD_TEXT
#undef ACCORD_COUNT
#undef ACCORD_NUMBER
#undef ACCORD_NOTE

constexpr size_t kMaxErrors = 20;
constexpr double kLargest = 1e15, kShortest = 1e-9; // seconds: a cycle

class Table {
public:
  Table(const std::string &path) : path(path) {}

  bool header(const Record &record) {
    std::map<std::string, unsigned> seen;
    for (const Cell &cell : record) {
      const Column *found = nullptr;
      for (const Column &column : kColumns)
        if (cell.text == column.name)
          found = &column;
      if (!found)
        complain(Code::BadColumn, cell,
                 fmt::format("unknown column '{}'; a table of step times has {}", cell.text,
                             fmt::join(columnNames(), ", ")));
      else if (!seen.emplace(cell.text, cell.column).second)
        complain(Code::BadColumn, cell, fmt::format("column '{}' is named twice", cell.text),
                 std::pair(SourceLocation{path, cell.line, seen[cell.text]}, std::string("it is named here, too")));
      columns.push_back(found);
    }
    if (!seen.count("id"))
      complain(Code::BadColumn, record.front(), "the column 'id' is missing");
    if (!seen.count("step_time_s"))
      complain(Code::BadColumn, record.front(), "the column 'step_time_s' is missing");
    return errors.empty();
  }

  void row(const Record &record) {
    if (record.size() != columns.size())
      return complain(Code::BadTable, record.size() < columns.size() ? record.front() : record[columns.size()],
                      fmt::format("{} cells, but the first line names {} columns", record.size(), columns.size()));
    Row row;
    row.location = {path, record.front().line, record.front().column};
    for (size_t i = 0; i < record.size(); ++i)
      cell(*columns[i], record[i], row);
    if (row.id.empty())
      complain(Code::BadCell, record.front(), "a row without an 'id'");
    else if (auto [other, isNew] = ids.emplace(row.id, row.location); !isNew)
      complain(Code::BadCell, record.front(), fmt::format("the id '{}' is used twice", row.id),
               std::pair(other->second, std::string("it is used here, too")));
    rows.push_back(std::move(row));
  }

  std::vector<Row> rows;
  Errors errors;

private:
  void complain(Code code, const Cell &cell, std::string message,
                std::optional<std::pair<SourceLocation, std::string>> note = {}) {
    if (errors.size() >= kMaxErrors)
      return;
    errors.push_back({code, std::move(message), {path, cell.line, cell.column}});
    if (note)
      errors.back().notes.push_back(*note);
  }

  void cell(const Column &column, const Cell &cell, Row &row) {
    row.text[column.name] = cell.text;
    row.columnAt[column.name] = cell.column;
    if (column.text)
      row.*column.text = cell.text;
    if (!column.number || cell.text.empty())
      return;
    auto read = parseReal(cell.text);
    auto wrong = [&](const char *what) {
      complain(Code::BadCell, cell, fmt::format("column '{}': expected {}, found '{}'", column.name, what, cell.text));
    };
    if (!read)
      return wrong(read.error().code == Code::NumberTooLarge ? "a number of ordinary size" : "a number");
    double number = *read;
    if (number < 0 || (column.kind == Kind::Count && number < 1))
      return wrong(column.kind == Kind::Count ? "a number of at least 1" : "a number of at least 0");
    if (column.kind == Kind::Count && number != std::floor(number))
      return wrong("a whole number");
    if (column.number == &Row::step_time_s && number < kShortest)
      return wrong("a time of at least 1e-9 s");
    if (number > kLargest)
      return wrong("a number of at most 10^15");
    row.*column.number = number;
  }

  const std::string &path;
  std::vector<const Column *> columns;
  std::map<std::string, SourceLocation> ids;
};

} // namespace

std::vector<std::string> columnNames() {
  std::vector<std::string> names;
  for (const Column &column : kColumns)
    names.push_back(column.name);
  return names;
}

Result<std::vector<Row>, Errors> readRows(std::string_view text, const std::string &path) {
  ACCORD_TRY(records, readCsv(text, path));
  if (records.size() < 2)
    return std::vector{
        Error{Code::BadTable,
              records.empty() ? "an empty file, expected a line of column names" : "column names without a row",
              {path, 1, 1}}};
  Table table(path);
  if (table.header(records.front()))
    for (size_t i = 1; i < records.size(); ++i)
      table.row(records[i]);
  if (!table.errors.empty())
    return std::move(table.errors);
  return std::move(table.rows);
}

} // namespace accord::calibrate
