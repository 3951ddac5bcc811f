#include "lib/driver/tuning/LiveTraining.h"
#include "lib/driver/tuning/EngineTrials.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <thread>

namespace accord {
namespace {
using namespace service;
using tuning::ServerInterval;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Between two looks at the progress, and at the engine, which may be slow to answer.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr int kLooksPerAsk = 10;
/// Seconds from the signal to save to the end of a program.
constexpr double kNotice = 5;

/// The last line that a program wrote, which often says why it ended.
std::string lastLine(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  llvm::StringRef text = llvm::StringRef(all).rtrim();
  text = text.substr(text.rfind('\n') + 1);
  return text.substr(0, 200).str();
}

} // namespace

LiveTraining::LiveTraining(std::unique_ptr<Engine> engine, LiveTrainingRequest request)
    : engine_(std::move(engine)), request_(std::move(request)),
      prefix_(fmt::format("tune-{}-{:x}-", sha256Of(request_.folder).substr(0, 8),
                          std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1))),
      interval_(request_.interval) {}

LiveTraining::~LiveTraining() { end(); }

Result<void> LiveTraining::writeSetting(const tuning::Setting &setting) {
  llvm::json::Object object{{"interval", static_cast<int64_t>(interval_)}};
  for (size_t i = 0; i < setting.size(); ++i) {
    const tuning::ServerParameter &parameter = request_.problem->parameters[i];
    const auto at = static_cast<size_t>(setting[i]);
    if (!parameter.words.empty())
      object[parameter.name] = parameter.words[at];
    else if (parameter.values[at] == std::round(parameter.values[at]))
      object[parameter.name] = static_cast<int64_t>(parameter.values[at]);
    else
      object[parameter.name] = parameter.values[at];
  }
  const std::string file = request_.folder + "/settings.json", beside = file + ".new";
  std::error_code failed;
  fs::create_directories(request_.folder, failed);
  if (!(std::ofstream(beside) << jsonText(std::move(object)) << "\n").flush() ||
      (fs::rename(beside, file, failed), failed))
    return Error{Code::CannotWrite, fmt::format("'{}' cannot be written", file)};
  return {};
}

Result<void> LiveTraining::start() {
  TaskRequest task;
  do
    progressFile_ = fmt::format("{}/progress-{}", request_.folder, ++started_);
  while (fs::exists(progressFile_));
  task.name = fmt::format("{}{}", prefix_, started_);
  task.job = 1, task.run = static_cast<int64_t>(started_);
  task.tenant = "tuning";
  task.nodes = {request_.node.name};
  task.deviceType = request_.node.deviceType;
  task.devicesPerNode = request_.node.devices;
  task.command = programWords(request_.program);
  task.folder = request_.folder;
  task.notice = kNotice;
  task.layout = {.pools = {{task.deviceType, 1, task.devicesPerNode}},
                 .nodes = 1,
                 .perNode = task.devicesPerNode,
                 .job = task.name,
                 .title = request_.problem->name,
                 .environment = {}};
  task.environment = {{"ACCORD_GUARD", "off"}, // there is no plan with which devices would be compared
                      {"ACCORD_SETTINGS", request_.folder + "/settings.json"},
                      {"ACCORD_PROGRESS", progressFile_}};
  task.batch.torchrun = false, task.batch.exclusive = false;
  if (!(std::ofstream(progressFile_) << "").flush())
    return Error{Code::CannotWrite, fmt::format("'{}' cannot be written", progressFile_)};
  ACCORD_TRY(id, engine_->submit(task));
  (void)id;
  task_ = task.name, read_ = 0, pending_.clear(), last_ = {};
  return {};
}

/// Ends the program, and waits until it is over.
void LiveTraining::end() {
  for (bool isAsked = false; !task_.empty(); isAsked = true) {
    auto all = engine_->tasks();
    if (all) {
      auto found = std::ranges::find(*all, task_, &EngineTask::name);
      if (found == all->end() || isOver(found->state))
        break;
      if (!isAsked)
        (void)engine_->stop(*found, kNotice);
    }
    std::this_thread::sleep_for(kLook * kLooksPerAsk);
  }
  task_.clear();
}

Result<std::optional<std::string>> LiveTraining::endOfTask() {
  ACCORD_TRY(all, engine_->tasks());
  auto found = std::ranges::find(all, task_, &EngineTask::name);
  if (found != all.end() && !isOver(found->state))
    return std::optional<std::string>();
  if (found != all.end() && found->state == EngineTask::State::Succeeded) {
    isComplete_ = true;
    return std::optional<std::string>("");
  }
  const int code = found != all.end() ? found->exitCode : -1;
  const std::string last = lastLine(request_.folder + "/output");
  return std::optional(fmt::format("the program ended{}{}", code >= 0 ? fmt::format(" with status {}", code) : "",
                                   last.empty() ? "" : ": " + last));
}

std::optional<LiveTraining::Reported> LiveTraining::nextReport(std::string &wrong) {
  size_t end = pending_.find('\n');
  if (end == std::string::npos) {
    std::ifstream in(progressFile_, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(read_));
    const std::string more{std::istreambuf_iterator<char>(in), {}};
    read_ += more.size(), pending_ += more;
    end = pending_.find('\n');
    constexpr size_t kLongest = 1 << 16;
    if (end == std::string::npos) {
      if (pending_.size() > kLongest)
        wrong = "a line of progress does not end";
      return std::nullopt;
    }
  }
  const std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  auto parsed = llvm::json::parse(line);
  const std::string shown = llvm::StringRef(line).substr(0, 100).str();
  if (!parsed) {
    llvm::consumeError(parsed.takeError()); // NaN and infinities too, which JSON does not have
    wrong = fmt::format("a line of progress is no JSON with finite numbers: {}", shown);
    return std::nullopt;
  }
  const auto *object = parsed->getAsObject();
  const auto samples = object ? object->getNumber("samples") : std::nullopt,
             seconds = object ? object->getNumber("seconds") : std::nullopt,
             joules = object ? object->getNumber("joules") : std::nullopt;
  if (!samples || !seconds || (needsJoules() && !joules)) {
    wrong =
        fmt::format("a line of progress lacks 'samples', 'seconds'{}: {}", needsJoules() ? " or 'joules'" : "", shown);
    return std::nullopt;
  }
  const Reported report{*samples, *seconds, joules.value_or(0)};
  if (!(report.samples >= last_.samples && report.seconds >= last_.seconds && report.joules >= last_.joules) ||
      !std::isfinite(report.samples + report.seconds + report.joules)) {
    wrong = fmt::format("progress went backwards: {}", shown);
    return std::nullopt;
  }
  last_ = report;
  return report;
}

Result<void> LiveTraining::apply(const tuning::Setting &setting) {
  ++interval_;
  if (auto written = writeSetting(setting); !written || !task_.empty())
    return written;
  return start();
}

Result<tuning::ServerRunner::Measured> LiveTraining::run(const tuning::Setting &setting, const Watch &watch) {
  if (auto applied = apply(setting); !applied)
    return applied.takeError();
  const tuning::ServerProblem &problem = *request_.problem;
  const double window = (problem.intervalSeconds - problem.settleSeconds) / static_cast<double>(tuning::kWindows);
  Measured out;
  auto failed = [&](std::string reason) {
    end();
    out.outcome = ServerInterval::Outcome::Failed, out.reason = std::move(reason);
    return out;
  };
  std::string wrong;
  while (nextReport(wrong)) {
  } // what was reported under the setting before
  const double from = last_.seconds + problem.settleSeconds;
  std::optional<Reported> begin; // of the window
  auto heard = Clock::now();
  for (int looks = 1;; ++looks) {
    if (isStopping()) {
      out.hasEnded = true;
      return out;
    }
    if (!wrong.empty())
      return failed(std::move(wrong));
    std::optional<std::string> end;
    if (looks % kLooksPerAsk == 0) {
      ACCORD_TRY(over, endOfTask()); // asked before the last reports are read
      end = over;
    }
    while (auto report = nextReport(wrong)) {
      heard = Clock::now();
      if (report->seconds < from)
        continue;
      if (!begin) {
        begin = report;
        continue;
      }
      if (report->seconds - begin->seconds < window * (1 - 1e-9) || report->seconds <= begin->seconds)
        continue;
      out.windows.push_back(
          {report->seconds - begin->seconds, report->samples - begin->samples, report->joules - begin->joules});
      begin = report;
      if (watch(out.windows)) {
        out.outcome = ServerInterval::Outcome::RolledBack;
        return out;
      }
      if (out.windows.size() < tuning::kWindows)
        continue;
      if (needsJoules() && std::ranges::all_of(out.windows, [](const auto &one) { return one.joules <= 0; }))
        return failed("the energy that is reported does not grow");
      return out;
    }
    if (!wrong.empty())
      continue;
    if (end) {
      task_.clear();
      if (!end->empty())
        return failed(std::move(*end));
      out.hasEnded = true;
      return out;
    }
    if (std::chrono::duration<double>(Clock::now() - heard).count() > problem.silenceSeconds)
      return failed(fmt::format("the program reported nothing for {} s", problem.silenceSeconds));
    std::this_thread::sleep_for(kLook);
  }
}

Result<std::string> LiveTraining::hold(const tuning::Setting &setting) {
  if (auto applied = apply(setting); !applied)
    return applied.takeError();
  while (!isStopping()) {
    ACCORD_TRY(over, endOfTask());
    if (over) {
      task_.clear();
      return *over;
    }
    std::this_thread::sleep_for(kLook * kLooksPerAsk);
  }
  return std::string();
}

} // namespace accord
