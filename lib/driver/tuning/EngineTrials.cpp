#include "lib/driver/tuning/EngineTrials.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <thread>

namespace accord {
namespace {
using namespace service;
namespace fs = std::filesystem;

/// Between two looks at files, and at the engine, which may be slow to answer.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr int kLooksPerAsk = 10;
/// Seconds from the signal to save to the end of a program: it saves behind each unit anyway.
constexpr double kNotice = 5;
/// Seconds for which an engine that does not answer is asked whether a program has ended.
constexpr double kMaxUnknown = 30;

std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What rules scale is no more in base terms, and has the ratios of widths beside it.
void addPassedValues(llvm::json::Object &object, const tuning::TuningProblem &problem,
                     const tuning::Configuration &configuration) {
  for (const tuning::PassedValue &one : tuning::passedValues(problem.space, problem.scales, configuration)) {
    const auto parameter = std::ranges::find(problem.space, one.name, &tuning::HyperParameter::name);
    if (parameter != problem.space.end() && parameter->kind == tuning::HyperParameter::Kind::Integer)
      object[one.name] = static_cast<int64_t>(one.value);
    else
      object[one.name] = one.value;
  }
}

/// What a program gets that goes on behind so many units.
std::string configurationJson(const tuning::TuningProblem &problem, const tuning::Configuration &configuration,
                              int64_t done) {
  llvm::json::Object object;
  for (size_t i = 0; i < problem.space.size(); ++i) {
    const tuning::HyperParameter &parameter = problem.space[i];
    if (parameter.kind == tuning::HyperParameter::Kind::Integer) {
      object[parameter.name] = static_cast<int64_t>(configuration[i]);
    } else if (parameter.kind == tuning::HyperParameter::Kind::Real) {
      object[parameter.name] = configuration[i];
    } else { // numbers among choices are numbers for the program too
      const std::string &choice = parameter.choices[static_cast<size_t>(configuration[i])];
      auto number = llvm::json::parse(choice);
      if (number && (number->getAsNumber() || number->getAsBoolean()))
        object[parameter.name] = *number;
      else
        object[parameter.name] = choice;
      if (!number)
        llvm::consumeError(number.takeError());
    }
  }
  addPassedValues(object, problem, configuration);
  for (const tuning::HyperParameter &parameter : problem.space)
    if (parameter.from > done)
      object.erase(parameter.name);
  return jsonText(std::move(object)) + "\n";
}

/// Files of a trial's folder that are not its program's: Accord's, and those that engines write beside it.
constexpr llvm::StringRef kOwnFiles[] = {"configuration.json",
                                         "values",
                                         "failed",
                                         "origin.json",
                                         "output",
                                         "exit",
                                         ".exit",
                                         "refused",
                                         "script",
                                         "launch",
                                         "hosts"};

/// Says from whose state a trial began.
std::string originJson(const tuning::Origin &origin) {
  return jsonText(llvm::json::Object{{"trial", origin.trial}, {"unit", origin.unit}}) + "\n";
}

/// Copies what a program has saved, links as links.
std::error_code copyState(const fs::path &from, const fs::path &to) {
  std::error_code failed;
  fs::create_directories(to, failed);
  for (fs::directory_iterator entry(from, failed), end; !failed && entry != end; entry.increment(failed))
    if (!llvm::is_contained(kOwnFiles, entry->path().filename().string()))
      fs::copy(entry->path(), to / entry->path().filename(),
               fs::copy_options::recursive | fs::copy_options::copy_symlinks, failed);
  return failed;
}

/// The last line that a program wrote, which often says why it ended.
std::string lastLine(const std::string &path) {
  llvm::StringRef text;
  const std::string all = readAll(path);
  text = llvm::StringRef(all).rtrim();
  text = text.substr(text.rfind('\n') + 1);
  return text.substr(0, 200).str();
}

} // namespace

std::vector<std::string> programWords(const std::string &program) {
  std::error_code failed; // then it runs in the task's folder
  return {"sh", "-c", "cd -- \"$0\" 2>/dev/null\n" + program, fs::current_path(failed).string()};
}

EngineTrials::EngineTrials(std::unique_ptr<Engine> engine, EngineTrialsRequest request)
    : engine_(std::move(engine)), request_(std::move(request)),
      prefix_(fmt::format("{}{:x}-", prefixOf(request_.folder),
                          std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1))) {}

std::string EngineTrials::prefixOf(const std::string &folder) {
  return fmt::format("tune-{}-", sha256Of(fs::absolute(folder).string()).substr(0, 8));
}

EngineTrials::~EngineTrials() {
  stopAll();
  for (auto &[trial, course] : courses_)
    if (!course.task.empty())
      waitForEnd(course.task, kNotice);
}

/// Tells all programs to end, so that none is waited for before another is told.
void EngineTrials::stopAll() {
  const bool isAny = std::ranges::any_of(courses_, [](const auto &one) { return !one.second.task.empty(); });
  const auto tasks = isAny ? engine_->tasks() : Result<std::vector<EngineTask>>(std::vector<EngineTask>());
  if (tasks)
    for (const EngineTask &task : *tasks)
      if (!isOver(task.state) &&
          std::ranges::any_of(courses_, [&](const auto &one) { return one.second.task == task.name; }))
        (void)engine_->stop(task, kNotice);
}

/// Programs that a life of this tuning left behind that was killed are ended: they write into the folders of trials.
Result<void> EngineTrials::endEarlierPrograms() {
  if (std::exchange(isAlone_, true))
    return {};
  const std::string ours = prefixOf(request_.folder);
  ACCORD_TRY(tasks, engine_->tasks());
  std::erase_if(tasks, [&](const EngineTask &task) { return isOver(task.state) || !task.name.starts_with(ours); });
  for (const EngineTask &task : tasks)
    if (auto stopped = engine_->stop(task, kNotice); !stopped)
      return stopped;
  for (const EngineTask &task : tasks)
    waitForEnd(task.name, kNotice);
  return {};
}

/// Units count as samples. Speeds are those that the tuning states for numbers of whole devices.
TaskWork EngineTrials::workOf(const Course &course, int64_t from, int64_t until) const {
  const tuning::TuningProblem &problem = *request_.problem;
  TaskWork work{.samples = static_cast<double>(until), .restart = problem.restart};
  const auto missing = std::ranges::find_if(course.values, [](const auto &one) { return !one.has_value(); });
  // What it has inherited has no values of its own.
  work.done = std::min(work.samples, static_cast<double>(std::max(from, missing - course.values.begin())));
  for (const tuning::Width &width : problem.widths)
    if (width.slots >= problem.slotsPerDevice)
      work.rates[width.slots / problem.slotsPerDevice] = width.speed / problem.unitSeconds;
  return work;
}

std::string EngineTrials::folderOf(unsigned trial) const { return fmt::format("{}/{:05}", request_.folder, trial); }

Result<std::optional<EngineTask>> EngineTrials::find(const std::string &task) {
  ACCORD_TRY(tasks, engine_->tasks());
  for (const EngineTask &one : tasks)
    if (one.name == task)
      return std::optional(one);
  return std::optional<EngineTask>();
}

/// Ends a task and waits until it is over; a trial never runs twice at a time.
void EngineTrials::waitForEnd(const std::string &task, double notice) {
  auto answered = std::chrono::steady_clock::now();
  for (bool isAsked = false;; isAsked = true) {
    auto found = find(task);
    if (found)
      answered = std::chrono::steady_clock::now();
    else if (std::chrono::steady_clock::now() - answered > std::chrono::duration<double>(kMaxUnknown))
      return; // nobody can tell any more
    if (found && (!*found || isOver((*found)->state)))
      return;
    if (!isAsked && found)
      (void)engine_->stop(**found, notice);
    std::this_thread::sleep_for(kLook * kLooksPerAsk);
  }
}

/// Whole lines that were added since; what is no value of the next unit is passed over.
void EngineTrials::readValues(unsigned trial) {
  Course &course = courses_[trial];
  const std::string text = readAll(folderOf(trial) + "/values");
  for (size_t end; (end = text.find('\n', course.read)) != std::string::npos; course.read = end + 1) {
    llvm::StringRef line = llvm::StringRef(text).slice(course.read, end).trim();
    auto parsed = llvm::json::parse(line);
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      // Python writes NaN and Infinity, which JSON does not have.
      std::string numbers = line.str();
      for (const char *word : {"-Infinity", "Infinity", "NaN"})
        for (size_t at; (at = numbers.find(word)) != std::string::npos;)
          numbers.replace(at, llvm::StringRef(word).size(), "null");
      parsed = llvm::json::parse(numbers);
      if (!parsed) {
        llvm::consumeError(parsed.takeError());
        continue;
      }
    }
    const llvm::json::Object *object = parsed->getAsObject();
    const auto unit = object ? object->getInteger("unit") : std::nullopt;
    const llvm::json::Value *value = object ? object->get("value") : nullptr;
    if (!unit || *unit < 1 || *unit > request_.problem->maxUnits || !value)
      continue;
    if (course.values.size() < static_cast<size_t>(*unit))
      course.values.resize(static_cast<size_t>(*unit));
    auto &slot = course.values[static_cast<size_t>(*unit) - 1];
    if (!slot) // what was said first counts
      slot = value->getAsNumber().value_or(std::numeric_limits<double>::infinity());
  }
}

std::string EngineTrials::keptFolder(unsigned trial, int64_t unit) const {
  return fmt::format("{}.at-{}", folderOf(trial), unit);
}

/// Whether a copy is there already; an error where the folder is another trial's.
static Result<bool> isCopied(const std::string &folder, const tuning::Origin &origin) {
  std::error_code failed;
  if (!fs::exists(folder, failed))
    return false;
  if (readAll(folder + "/origin.json") == originJson(origin))
    return true;
  return Error{Code::BadCommandLine,
               fmt::format("'{}' has a trial of another tuning: name another folder, or remove it", folder)};
}

/// Copies what a program has saved, with a mark that says whose it is; whole, or not at all.
static Result<void> copyTrial(const std::string &from, const std::string &to, const tuning::Origin &origin) {
  std::error_code failed;
  const std::string part = to + ".part"; // what is left of a copy that was interrupted
  fs::remove_all(part, failed);
  if (!failed)
    failed = copyState(from, part);
  if (!failed && !(std::ofstream(part + "/origin.json") << originJson(origin)).flush())
    failed = std::make_error_code(std::errc::io_error);
  if (!failed)
    fs::rename(part, to, failed);
  if (failed)
    return Error{Code::CannotWrite, fmt::format("'{}' cannot be copied to '{}': {}", from, to, failed.message())};
  return {};
}

/// Copies the state of a trial that stands still behind a unit. `what` is said of where it goes.
Result<void> EngineTrials::copyStanding(const tuning::Origin &origin, const std::string &to, const std::string &what) {
  ACCORD_TRY(isThere, isCopied(to, origin));
  if (isThere)
    return {};
  readValues(origin.trial);
  if (courses_[origin.trial].values.size() > static_cast<size_t>(origin.unit))
    return Error{Code::BadCommandLine,
                 fmt::format("{} the state of trial {} after unit {}, but that one has gone on: its program ran beyond "
                             "ACCORD_UNITS, or '{}' was removed; tune into another folder",
                             what, origin.trial, origin.unit, to)};
  return copyTrial(folderOf(origin.trial), to, origin);
}

Result<void> EngineTrials::keep(unsigned trial, int64_t unit) {
  return copyStanding({.trial = trial, .unit = unit}, keptFolder(trial, unit), "branches begin with");
}

Result<void> EngineTrials::inherit(unsigned trial, const tuning::Origin &origin) {
  const std::string kept = keptFolder(origin.trial, origin.unit);
  std::error_code failed;
  if (!fs::exists(kept, failed))
    return copyStanding(origin, folderOf(trial), fmt::format("trial {} begins with", trial));
  ACCORD_TRY(isThere, isCopied(folderOf(trial), origin));
  return isThere ? Result<void>() : copyTrial(kept, folderOf(trial), origin);
}

Result<void> EngineTrials::start(const tuning::Segment &segment, const tuning::Configuration &configuration,
                                 int64_t until) {
  if (auto alone = endEarlierPrograms(); !alone)
    return alone;
  Course &course = courses_[segment.trial];
  const std::string folder = folderOf(segment.trial);
  const tuning::TuningProblem &problem = *request_.problem;
  const std::string json = configurationJson(problem, configuration, segment.from);
  std::error_code failed;
  fs::create_directories(folder, failed);
  const std::string file = folder + "/configuration.json";
  const bool isOthers = segment.from == 0 && fs::exists(folder + "/origin.json", failed);
  const std::string known = readAll(file); // with fewer hyper-parameters before, with more of an earlier life
  std::vector<int64_t> stages = tuning::branchUnits(problem.space);
  stages.insert(stages.begin(), 0);
  if (isOthers || (fs::exists(file) && std::ranges::none_of(stages, [&](int64_t done) {
                     return known == configurationJson(problem, configuration, done);
                   })))
    return Error{Code::BadCommandLine,
                 fmt::format("'{}' has a trial of another tuning: name another folder, or remove it", folder)};
  if (!(std::ofstream(file) << json).flush())
    return Error{Code::CannotWrite, fmt::format("'{}' cannot be written", file)};
  course.failure = readAll(folder + "/failed");
  readValues(segment.trial);
  if (!course.failure.empty() || course.values.size() >= static_cast<size_t>(until))
    return {}; // it is known how it went
  if (!course.task.empty())
    waitForEnd(course.task, kNotice);

  const int64_t perNode = problem.devicesPerNode;
  const auto devices = static_cast<int64_t>(segment.devices.size());
  TaskRequest task;
  task.name = fmt::format("{}{}-{}", prefix_, segment.trial, ++started_);
  task.job = segment.trial + 1, task.run = static_cast<int64_t>(started_);
  task.tenant = "tuning";
  for (int64_t device : segment.devices) {
    const std::string &node = request_.nodes[static_cast<size_t>(device / perNode)].name;
    if (task.nodes.empty() || task.nodes.back() != node)
      task.nodes.push_back(node);
  }
  task.deviceType = request_.nodes.front().deviceType;
  task.devicesPerNode = std::min(devices, perNode);
  if (const int64_t slots = request_.problem->slotsPerDevice; segment.slots < slots) {
    const auto &node = request_.nodes[static_cast<size_t>(segment.devices.front() / perNode)];
    task.shares = segment.slots * node.sharesPerDevice / slots;
  }
  task.command = programWords(request_.program);
  task.folder = folder;
  task.notice = kNotice;
  task.layout = {.pools = {{task.deviceType, static_cast<int64_t>(task.nodes.size()), task.devicesPerNode}},
                 .nodes = static_cast<int64_t>(task.nodes.size()),
                 .perNode = task.devicesPerNode,
                 .job = task.name,
                 .title = fmt::format("trial {}", segment.trial),
                 .environment = {}};
  task.environment = {{"ACCORD_GUARD", "off"}, // there is no plan with which devices would be compared
                      {"ACCORD_TRIAL", std::to_string(segment.trial)},
                      {"ACCORD_TRIAL_FOLDER", fs::absolute(folder).string()},
                      {"ACCORD_CONFIGURATION", fs::absolute(file).string()},
                      {"ACCORD_VALUES", fs::absolute(folder + "/values").string()},
                      {"ACCORD_UNITS", std::to_string(until)}};
  task.batch.torchrun = false, task.batch.exclusive = false;
  task.work = workOf(course, segment.from, until);
  ACCORD_TRY(id, engine_->submit(task));
  (void)id;
  course.task = task.name;
  return {};
}

void EngineTrials::pause(unsigned trial) {
  Course &course = courses_[trial];
  if (!course.task.empty())
    waitForEnd(std::exchange(course.task, ""), kNotice);
}

Result<tuning::TrialValue> EngineTrials::value(unsigned trial, const tuning::Configuration & /*configuration*/,
                                               int64_t unit) {
  const auto index = static_cast<size_t>(unit) - 1;
  bool isOverNow = false;
  for (int looks = 0;; ++looks) {
    Course &course = courses_[trial];
    readValues(trial);
    if (index < course.values.size() && course.values[index])
      return tuning::TrialValue{course.values[index]};
    if (!course.failure.empty())
      return tuning::TrialValue{std::nullopt, course.failure};
    if (isStopping())
      return tuning::TrialValue{.value = std::nullopt, .isStopped = true};
    if (isOverNow || course.task.empty()) { // it has ended before, so that its values are all there
      const std::string folder = folderOf(trial);
      auto found = find(course.task);
      const EngineTask task = found && *found ? **found : EngineTask();
      const bool isByOthers = task.state >= EngineTask::State::Stopped && !task.reason.empty();
      const std::string last = isByOthers ? task.reason : lastLine(folder + "/output");
      course.failure = fmt::format("the program ended without a value for unit {}{}{}", unit,
                                   task.exitCode >= 0 ? fmt::format(" (status {})", task.exitCode) : "",
                                   last.empty() ? "" : ": " + last);
      if (!(std::ofstream(folder + "/failed") << course.failure).flush())
        return Error{Code::CannotWrite, fmt::format("'{}/failed' cannot be written", folder)};
      continue;
    }
    if (looks % kLooksPerAsk == 0) {
      ACCORD_TRY(found, find(course.task));
      isOverNow = !found || isOver(found->state);
    }
    if (!isOverNow)
      std::this_thread::sleep_for(kLook);
  }
}

} // namespace accord
