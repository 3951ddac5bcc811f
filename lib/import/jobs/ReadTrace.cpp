#include "lib/import/jobs/ReadTrace.h"
#include "lib/import/jobs/AlibabaTrace.h"
#include "lib/import/jobs/PhillyTrace.h"
#include "lib/import/jobs/PolluxTable.h"
#include "lib/import/jobs/SlurmTrace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <filesystem>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

using llvm::StringRef;

constexpr const char *kKnown =
    "known are sacct -P, sacct --json and squeue --json of Slurm, the table and the job log of Philly, pai_task_table "
    "(2020) and openb_pod_list (2023) of Alibaba";

/// The first line that is not blank, and where it is.
struct FirstLine {
  StringRef text;
  unsigned number = 1, column = 1;
};

FirstLine firstLine(StringRef text) {
  FirstLine first;
  if (text.starts_with("\xEF\xBB\xBF"))
    text = text.drop_front(3);
  while (!text.empty()) {
    const auto [line, rest] = text.split('\n');
    if (!line.trim().empty()) {
      first.text = line.trim();
      return first;
    }
    text = rest;
    ++first.number;
  }
  first.number = 1;
  return first;
}

/// The start of a line, fit for a message.
std::string shown(StringRef line) {
  std::string text;
  for (char c : line.take_front(60))
    text += llvm::isPrint(c) ? c : '?';
  return line.size() > 60 ? text + "..." : text;
}

bool isStatus(StringRef text) {
  return text == "Terminated" || text == "Failed" || text == "Running" || text == "Waiting" || text == "Interrupted";
}

std::optional<TraceFormat> tableFormat(StringRef line) {
  llvm::SmallVector<StringRef> cells;
  line.split(cells, ',');
  for (StringRef &cell : cells)
    cell = cell.trim().trim('"');
  auto has = [&](StringRef name) { return llvm::is_contained(cells, name); };
  if (has("timestamp") && has("num_gpus"))
    return TraceFormat::PhillyTable;
  if (has("num_gpu") && has("creation_time"))
    return TraceFormat::Alibaba2023;
  if (has("job_name") && has("plan_gpu"))
    return TraceFormat::Alibaba2020Tasks;
  if (has("job_name") && has("inst_id") && has("user"))
    return TraceFormat::Alibaba2020Jobs;
  if (cells.size() == 10 && isStatus(cells[3])) // tables of 2020 come without a header
    return TraceFormat::Alibaba2020Tasks;
  if (cells.size() == 6 && isStatus(cells[3]))
    return TraceFormat::Alibaba2020Jobs;
  return std::nullopt;
}

} // namespace

Result<TraceFormat> traceFormat(std::string_view text, const std::string &path) {
  const FirstLine first = firstLine(StringRef(text.data(), text.size()));
  if (first.text.empty())
    return Error{
        Code::WrongJobsFile, fmt::format("the file is empty, but a trace is expected: {}", kKnown), {path, 1, 1}};
  if (first.text.front() == '{')
    return TraceFormat::SlurmJson;
  if (first.text.front() == '[')
    return TraceFormat::PhillyLog;
  if (first.text.contains('|') && first.text.contains_insensitive("jobid"))
    return TraceFormat::SlurmText;
  if (const auto format = tableFormat(first.text))
    return *format;
  return Error{Code::WrongJobsFile,
               fmt::format("found '{}', which begins no trace that is known: {}", shown(first.text), kKnown),
               {path, first.number, first.column}};
}

Result<Trace> readTrace(std::string_view text, const std::string &path) {
  ACCORD_TRY(format, traceFormat(text, path));
  switch (format) {
  case TraceFormat::SlurmText:
    return readSlurmText(text, path);
  case TraceFormat::SlurmJson:
    return readSlurmJson(text, path);
  case TraceFormat::PhillyTable:
    return readPhillyTable(text, path);
  case TraceFormat::PhillyLog:
    return readPhillyLog(text, path);
  case TraceFormat::Alibaba2020Tasks:
    return readAlibaba2020(text, path);
  case TraceFormat::Alibaba2020Jobs:
    return alibabaJobTableAlone(path);
  case TraceFormat::Alibaba2023:
    break;
  }
  return readAlibaba2023(text, path);
}

Result<Trace> readTraceFile(const std::string &path) {
  ACCORD_TRY(text, readPolluxFile(path));
  ACCORD_TRY(format, traceFormat(text, path));
  constexpr std::string_view kTasks = "pai_task_table", kJobs = "pai_job_table";
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  const size_t at = name.find(kTasks);
  if (format != TraceFormat::Alibaba2020Tasks || at == std::string::npos)
    return readTrace(text, path);
  const std::string beside = (file.parent_path() / name.replace(at, kTasks.size(), kJobs)).string();
  std::error_code problem;
  if (!std::filesystem::is_regular_file(beside, problem))
    return readTrace(text, path);
  ACCORD_TRY(jobText, readPolluxFile(beside));
  ACCORD_TRY(trace, readAlibaba2020(text, path, jobText, beside));
  trace.assumptions.insert(trace.assumptions.begin(),
                           fmt::format("tenants and arrivals are those of '{}' beside the file", name));
  return std::move(trace);
}

} // namespace accord::jobs
