#include "lib/import/jobs/SiaProfiles.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <span>

namespace accord::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "placements-", kSuffix = ".csv";

/// TYPE of "placements-TYPE.csv"; nothing for other names.
std::optional<std::string> typeOf(const std::string &file) {
  if (!file.starts_with(kPrefix) || !file.ends_with(kSuffix) || file.size() <= kPrefix.size() + kSuffix.size())
    return std::nullopt;
  return file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
}

Error unreadable(const std::string &folder) {
  return {Code::WrongJobsFile, fmt::format("folder '{}' cannot be read", folder), {folder, 1, 1}};
}

/// The device types of each application.
Result<std::map<std::string, std::set<std::string>>> listFiles(const std::string &folder) {
  std::map<std::string, std::set<std::string>> found;
  std::error_code problem;
  fs::directory_iterator application(folder, problem);
  for (; !problem && application != fs::directory_iterator(); application.increment(problem)) {
    std::error_code none;
    if (!application->is_directory(none))
      continue;
    std::error_code inner;
    fs::directory_iterator file(application->path(), inner);
    for (; !inner && file != fs::directory_iterator(); file.increment(inner))
      if (const auto type = typeOf(file->path().filename().string()))
        found[application->path().filename().string()].insert(*type);
    if (inner)
      return unreadable(application->path().string());
  }
  if (problem)
    return unreadable(folder);
  return found;
}

/// Seconds of a step of one device with a local batch: between the rows of the placement of one device, linearly.
/// Nothing outside of them.
std::optional<double> aloneSeconds(const TrainingProfile &profile, int64_t localBatch) {
  const PlacementTime *before = nullptr;
  for (const PlacementTime &row : profile.placements) {
    if (row.placement != std::vector<unsigned>{1})
      continue;
    if (row.localBatch == localBatch)
      return row.time.step;
    if (row.localBatch > localBatch) {
      if (!before)
        return std::nullopt;
      const double share = static_cast<double>(localBatch - before->localBatch) /
                           static_cast<double>(row.localBatch - before->localBatch);
      return before->time.step + share * (row.time.step - before->time.step);
    }
    before = &row;
  }
  return std::nullopt;
}

/// Adds the logarithms of the ratios of two profiles of an application, at the local batches of `of`.
void addRatios(const TrainingProfile &of, const TrainingProfile &to, bool inverse, double &sum, size_t &count) {
  for (const PlacementTime &row : of.placements) {
    if (row.placement != std::vector<unsigned>{1})
      continue;
    if (const auto other = aloneSeconds(to, row.localBatch)) {
      sum += (inverse ? -1 : 1) * std::log(row.time.step / *other);
      ++count;
    }
  }
}

/// How many times as long a step of one device takes on `type` as on `reference`; nothing if no application was
/// profiled on both.
std::optional<double> ratioOf(const SiaProfiles &read, const std::string &type, const std::string &reference) {
  double sum = 0;
  size_t applications = 0;
  for (const std::string &application : read.applications) {
    const auto one = read.profiles.find({application, type}), other = read.profiles.find({application, reference});
    if (one == read.profiles.end() || other == read.profiles.end())
      continue;
    double logarithms = 0;
    size_t count = 0;
    addRatios(one->second, other->second, false, logarithms, count);
    addRatios(other->second, one->second, true, logarithms, count);
    if (count == 0)
      continue;
    sum += logarithms / static_cast<double>(count);
    ++applications;
  }
  if (applications == 0)
    return std::nullopt;
  return std::exp(sum / static_cast<double>(applications));
}

/// What a table says of an application; `otherwise` for those that it does not have.
double valueOf(std::span<const std::pair<std::string_view, double>> table, std::string_view application,
               double otherwise) {
  for (const auto &[name, value] : table)
    if (name == application)
      return value;
  return otherwise;
}

/// Imputes what is missing from what was read.
void impute(SiaProfiles &read) {
  const SiaProfiles measured = read;
  for (const std::string &application : read.applications)
    for (const std::string &type : read.types) {
      if (measured.profiles.count({application, type}))
        continue;
      bool done = false;
      for (const std::string &reference : read.types) {
        const auto found = measured.profiles.find({application, reference});
        const auto ratio = found == measured.profiles.end() ? std::nullopt : ratioOf(measured, type, reference);
        if (!ratio)
          continue;
        read.profiles[{application, type}] = scaledProfile(found->second, *ratio);
        read.assumptions.push_back(fmt::format("'{}' was not profiled on '{}': its times are {:.3f} of those on '{}'",
                                               application, type, *ratio, reference));
        done = true;
        break;
      }
      if (!done)
        read.assumptions.push_back(
            fmt::format("'{}' was not profiled on '{}', and nothing says how fast it is there", application, type));
    }
}

} // namespace

Result<SiaProfiles> readSiaProfiles(const std::string &folder, const std::vector<std::string> &types) {
  ACCORD_TRY(files, listFiles(folder));
  SiaProfiles read;
  std::set<std::string> there;
  for (const auto &[application, found] : files)
    there.insert(found.begin(), found.end());
  if (there.empty())
    return Error{Code::WrongJobsFile,
                 fmt::format("folder '{}' has no file 'APPLICATION/placements-TYPE.csv'", folder),
                 {folder, 1, 1}};
  for (const std::string &type : types)
    if (!there.count(type)) {
      std::string names;
      for (const std::string &one : there)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", one);
      return Error{Code::WrongJobsFile,
                   fmt::format("folder '{}' has no profiles of device type '{}', but of {}", folder, type, names),
                   {folder, 1, 1}};
    }
  std::set<std::string> wanted(types.begin(), types.end());
  if (wanted.empty())
    wanted = there;
  read.types.assign(wanted.begin(), wanted.end());
  for (const auto &[application, found] : files) {
    if (application == "gpt_pmp") {
      read.assumptions.push_back("'gpt_pmp' is left out: its times are those of pipeline stages");
      continue;
    }
    read.applications.push_back(application);
    for (const std::string &type : read.types) {
      if (!found.count(type))
        continue;
      PolluxLimits limits = polluxLimits(application);
      if (application == "deepspeech2" && type == "rtx")
        limits.maxLocalBatch = 57; // what Sia's simulator says of its memory
      ACCORD_TRY(profile, readPolluxProfile((fs::path(folder) / application).string(), limits, type));
      read.profiles[{application, type}] = std::move(profile);
    }
  }
  impute(read);
  return read;
}

TrainingProfile scaledProfile(TrainingProfile profile, double ratio) {
  for (PlacementTime &row : profile.placements)
    row.time = {row.time.step * ratio, row.time.sync * ratio};
  for (ScalabilityTime &row : profile.scalability)
    row.time = {row.time.step * ratio, row.time.sync * ratio};
  return profile;
}

double siaRestartSeconds(std::string_view application) {
  constexpr std::pair<std::string_view, double> kSeconds[] = {{"bert", 120},     {"cifar10", 50}, {"deepspeech2", 25},
                                                              {"imagenet", 250}, {"ncf", 15},     {"yolov3", 80}};
  return valueOf(kSeconds, application, 30);
}

double siaSlowdown(std::string_view application) {
  constexpr std::pair<std::string_view, double> kFactors[] = {{"bert", 1.2},     {"cifar10", 1.8}, {"deepspeech2", 1.2},
                                                              {"imagenet", 1.2}, {"ncf", 1.5},     {"yolov3", 1.2}};
  return valueOf(kFactors, application, 1);
}

} // namespace accord::jobs
