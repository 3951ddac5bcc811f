#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/import/jobs/PolluxTable.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace accord::jobs {
namespace {

constexpr size_t kMaxDigits = 64; ///< servers of a placement

Result<std::vector<unsigned>> readPlacement(const PolluxTable &table, size_t row, size_t column) {
  const std::string &text = table.cell(row, column).text;
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '1' && c <= '9'; });
  if (text.empty() || text.size() > kMaxDigits || !digits)
    return table.wrong(
        row, column, fmt::format("'placement' is '{}', but 1 to {} digits from 1 to 9 are expected", text, kMaxDigits));
  std::vector<unsigned> placement;
  for (char digit : text)
    placement.push_back(static_cast<unsigned>(digit - '0'));
  return placement;
}

/// The columns `step` and `sync`, of which the first has to be positive and not below the second.
Result<StepTime> readTime(const PolluxTable &table, size_t row, size_t step, size_t sync) {
  ACCORD_TRY(whole, table.real(row, step, 0));
  ACCORD_TRY(part, table.real(row, sync, 0));
  if (whole <= 0)
    return table.wrong(row, step, "'step_time' is 0, but a step takes time");
  if (part > whole)
    return table.wrong(row, sync, fmt::format("'sync_time' is {}, but the step takes {}", part, whole));
  return StepTime{whole, part};
}

/// B of "validation-B.csv"; nothing for other names.
std::optional<std::string> batchOf(const std::string &file) {
  constexpr std::string_view kPrefix = "validation-", kSuffix = ".csv";
  if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) || file.size() <= kPrefix.size() + kSuffix.size())
    return std::nullopt;
  return file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
}

/// The files with curves of a folder, by batch.
Result<std::map<int64_t, std::string>> curveFiles(const std::string &folder) {
  std::error_code problem;
  std::map<int64_t, std::string> files;
  std::filesystem::directory_iterator entry(folder, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    const auto text = batchOf(entry->path().filename().string());
    if (!text)
      continue;
    int64_t batch = 0;
    const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), batch);
    if (wrong != std::errc() || end != text->data() + text->size() || batch < 1 || batch > kMaxPolluxNumber ||
        !files.emplace(batch, entry->path().string()).second)
      return Error{
          Code::WrongJobsFile,
          fmt::format("the name of the file says batch '{}', but a whole number from 1 to {} is expected, once", *text,
                      kMaxPolluxNumber),
          {entry->path().string()}};
  }
  if (problem)
    return Error{Code::WrongJobsFile, fmt::format("folder '{}' cannot be read", folder), {folder}};
  if (files.empty())
    return Error{Code::WrongJobsFile, fmt::format("folder '{}' has no file 'validation-B.csv'", folder), {folder}};
  return files;
}

} // namespace

PolluxLimits polluxLimits(std::string_view application) {
  if (application == "yolov3")
    return {8, 0};
  if (application == "ncf")
    return {std::nullopt, 1};
  return {};
}

Result<std::vector<PlacementTime>> readPolluxPlacements(std::string_view text, const std::string &path) {
  enum Column : size_t { Placement, LocalBatch, Step, Sync };
  constexpr std::string_view kColumns[] = {"placement", "local_bsz", "step_time", "sync_time"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<PlacementTime> rows;
  std::set<std::vector<unsigned>> seen;
  for (size_t row = 0; row < table.rows(); ++row) {
    ACCORD_TRY(placement, readPlacement(table, row, Placement));
    ACCORD_TRY(localBatch, table.whole(row, LocalBatch, 1));
    ACCORD_TRY(time, readTime(table, row, Step, Sync));
    const bool same = !rows.empty() && rows.back().placement == placement;
    if (same && rows.back().localBatch >= localBatch)
      return table.wrong(
          row, LocalBatch,
          fmt::format("'local_bsz' is {}, but more than the {} above is expected", localBatch, rows.back().localBatch));
    if (!same && !seen.insert(placement).second)
      return table.wrong(
          row, Placement,
          fmt::format("placement '{}' stands in lines before others already", table.cell(row, Placement).text));
    rows.push_back({std::move(placement), localBatch, time});
  }
  if (rows.empty())
    return Error{Code::WrongJobsFile, "the file has no placement", {path, 1, 1}};
  return rows;
}

Result<std::vector<ScalabilityTime>> readPolluxScalability(std::string_view text, const std::string &path) {
  enum Column : size_t { Servers, Devices, LocalBatch, Step, Sync };
  constexpr std::string_view kColumns[] = {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"};
  constexpr int64_t kMaxDevices = int64_t(1) << 30;
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<ScalabilityTime> rows;
  for (size_t row = 0; row < table.rows(); ++row) {
    ACCORD_TRY(servers, table.whole(row, Servers, 1));
    ACCORD_TRY(devices, table.whole(row, Devices, 1));
    if (devices < servers || devices > kMaxDevices)
      return table.wrong(row, Devices,
                         fmt::format("'num_replicas' is {}, but from {} to {} are expected on {} servers", devices,
                                     servers, kMaxDevices, servers));
    ACCORD_TRY(localBatch, table.whole(row, LocalBatch, 1));
    ACCORD_TRY(time, readTime(table, row, Step, Sync));
    rows.push_back({static_cast<unsigned>(servers), static_cast<unsigned>(devices), localBatch, time});
  }
  return rows;
}

Result<std::vector<ValidationEpoch>> readPolluxValidation(std::string_view text, const std::string &path) {
  enum Column : size_t { Progress, Iteration, Metric, Square, Variance };
  constexpr std::string_view kColumns[] = {"progress", "iteration", "metric", "grad_sqr", "grad_var"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<ValidationEpoch> epochs;
  ValidationEpoch before;
  for (size_t row = 0; row < table.rows(); ++row) {
    ACCORD_TRY(progress, table.real(row, Progress, 0));
    ACCORD_TRY(iteration, table.real(row, Iteration, 0));
    ACCORD_TRY(metric, table.real(row, Metric, std::numeric_limits<double>::lowest()));
    ACCORD_TRY(square, table.real(row, Square, 0));
    ACCORD_TRY(variance, table.real(row, Variance, 0));
    if (progress <= before.progress)
      return table.wrong(row, Progress,
                         fmt::format("'progress' is {}, but more than {} is expected", progress, before.progress));
    if (iteration <= before.iteration)
      return table.wrong(row, Iteration,
                         fmt::format("'iteration' is {}, but more than {} is expected", iteration, before.iteration));
    if (square + variance <= 0)
      return table.wrong(row, Square, "'grad_sqr' and 'grad_var' are 0, but one of them is expected to be positive");
    before = {progress, iteration, metric, square, variance};
    epochs.push_back(before);
  }
  if (epochs.empty())
    return Error{Code::WrongJobsFile, "the file has no epoch", {path, 1, 1}};
  return epochs;
}

Result<std::vector<ValidationCurve>> readPolluxCurves(const std::string &folder) {
  ACCORD_TRY(files, curveFiles(folder));
  std::vector<ValidationCurve> curves;
  for (const auto &[batch, file] : files) {
    ACCORD_TRY(text, readPolluxFile(file));
    ACCORD_TRY(epochs, readPolluxValidation(text, file));
    curves.push_back({batch, std::move(epochs)});
  }
  return curves;
}

Result<TrainingProfile> readPolluxProfile(const std::string &folder, const PolluxLimits &limits,
                                          const std::string &deviceType) {
  const std::filesystem::path root(folder);
  const std::string end = deviceType.empty() ? ".csv" : "-" + deviceType + ".csv";
  const std::string placementFile = (root / ("placements" + end)).string();
  const std::string scalabilityFile = (root / ("scalability" + end)).string();
  TrainingProfile profile;
  profile.name = root.filename().empty() ? root.parent_path().filename().string() : root.filename().string();
  ACCORD_TRY(placementText, readPolluxFile(placementFile));
  ACCORD_TRY(placements, readPolluxPlacements(placementText, placementFile));
  profile.placements = std::move(placements);
  ACCORD_TRY(scalabilityText, readPolluxFile(scalabilityFile));
  ACCORD_TRY(scalability, readPolluxScalability(scalabilityText, scalabilityFile));
  profile.scalability = std::move(scalability);
  ACCORD_TRY(curves, readPolluxCurves(folder));
  profile.curves = std::move(curves);
  profile.epochs =
      std::ranges::min(profile.curves, {}, [](const ValidationCurve &one) { return one.epochs.size(); }).epochs.size();
  profile.initialBatch = profile.curves.front().batch;
  profile.maxBatch = profile.curves.back().batch;
  const auto [min, max] = std::ranges::minmax_element(profile.placements, {}, &PlacementTime::localBatch);
  profile.minLocalBatch = min->localBatch;
  profile.maxLocalBatch = limits.maxLocalBatch.value_or(max->localBatch);
  profile.maxDevices = limits.maxDevices;
  if (auto checked = checkTrainingProfile(profile); !checked) {
    Error error = checked.takeError();
    error.location.file = folder;
    return error;
  }
  return profile;
}

Result<std::vector<PolluxJob>> readPolluxWorkload(std::string_view text, const std::string &path) {
  enum Column : size_t { Name, Time, Application, Devices, Batch };
  constexpr std::string_view kColumns[] = {"name", "time", "application", "num_replicas", "batch_size"};
  ACCORD_TRY(table, PolluxTable::read(text, path, kColumns));
  std::vector<PolluxJob> jobs;
  std::map<std::string, unsigned> lines; // of each name
  for (size_t row = 0; row < table.rows(); ++row) {
    const Cell &name = table.cell(row, Name), &application = table.cell(row, Application);
    if (name.text.empty())
      return table.wrong(row, Name, "the job has no name");
    if (application.text.empty())
      return table.wrong(row, Application, fmt::format("job '{}' has no application", name.text));
    const auto [before, isNew] = lines.emplace(name.text, name.line);
    if (!isNew)
      return table.wrong(row, Name, fmt::format("job '{}' stands in line {} too", name.text, before->second));
    ACCORD_TRY(arrival, table.real(row, Time, 0));
    ACCORD_TRY(devices, table.whole(row, Devices, 1));
    ACCORD_TRY(batch, table.whole(row, Batch, 1));
    if (devices > std::numeric_limits<int32_t>::max())
      return table.wrong(row, Devices,
                         fmt::format("job '{}' asks for {} devices, at most {} are allowed", name.text, devices,
                                     std::numeric_limits<int32_t>::max()));
    jobs.push_back({name.text, application.text, arrival, static_cast<unsigned>(devices), batch, name.line});
  }
  return jobs;
}

Result<std::vector<PolluxJob>> readPolluxWorkloadFile(const std::string &path) {
  ACCORD_TRY(text, readPolluxFile(path));
  return readPolluxWorkload(text, path);
}

} // namespace accord::jobs
