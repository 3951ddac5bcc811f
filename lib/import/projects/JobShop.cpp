#include "lib/import/projects/NumberText.h"
#include "lib/import/projects/Projects.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord {

using namespace import;

namespace {

constexpr int64_t kMaxMachines = 100'000;
constexpr const char *kHelp = "a job shop has 'jobs machines', then of each job a row of pairs 'machine duration'";
constexpr const char *kFlexibleHelp = "a flexible job shop (.fjs) has 'jobs machines', then of each job the number of "
                                      "operations, and of each the number of machines with 'machine duration'";

using Words = llvm::SmallVector<llvm::StringRef, 32>;

bool areNumbers(const Words &words) {
  return llvm::all_of(words, [](llvm::StringRef word) { return llvm::isDigit(word[0]); });
}

class JobShopReader {
public:
  JobShopReader(Diagnostics &diags, FileId file) : diags(diags), file(file), text(diags, file) {}

  std::optional<PsplibImport> run() {
    if (!text.isReadable(kHelp))
      return std::nullopt;
    text.skipComments();
    auto sizes = text.line();
    if (sizes.size() < 2) {
      diags.error(Code::SyntaxError, sizes.empty() ? SourceRange{file, 0, 0} : text.at(sizes[0]), "this is no job shop")
          .help(kHelp);
      return std::nullopt;
    }
    auto jobs = text.number(sizes[0], "the number of jobs", {1, kMaxProjectTasks}),
         machines = text.number(sizes[1], "the number of machines", {1, kMaxMachines});
    if (!jobs || !machines)
      return std::nullopt;
    bool taillard = sizes.size() == 6; // and two seeds, and two bounds
    if (!taillard && sizes.size() > 2)
      return text.fail(text.at(sizes[2]), "expected 'jobs machines' alone in this line");
    std::vector<Words> rows = taillard ? sections(*jobs, *machines) : pairs(*jobs, *machines);
    if (text.failed())
      return std::nullopt;
    auto isNull = [](llvm::StringRef word) { return word.find_first_not_of('0') == llvm::StringRef::npos; };
    bool fromOne = llvm::none_of(rows, [&](const Words &row) {
      for (size_t i = 0; i < row.size(); i += 2)
        if (isNull(row[i]))
          return true;
      return false;
    });
    for (int64_t m = 0; m < *machines; ++m)
      problem.addResource(fmt::format("M{}", m + fromOne), 1);
    for (size_t job = 0; job < rows.size() && !text.failed(); ++job)
      addJob(job, rows[job], fromOne, *machines);
    if (!text.isSound(problem))
      return std::nullopt;
    std::vector<std::string> notes;
    if (fromOne && !taillard)
      notes.push_back("no job needs machine 0: machines are numbered from 1");
    return PsplibImport{std::move(problem), std::move(notes)};
  }

private:
  std::vector<Words> pairs(int64_t jobs, int64_t machines) {
    std::vector<Words> rows;
    while (std::cmp_less(rows.size(), jobs)) {
      auto row = text.line();
      if (row.empty() || !areNumbers(row)) {
        text.fail(
            text.at(row.empty() ? text.lastWord() : row[0]),
            fmt::format("expected the row of job {} of {}: pairs of machine and duration", rows.size() + 1, jobs));
        return rows;
      }
      if (row.size() % 2 != 0) {
        text.fail(text.at(row.back()), fmt::format("the row of job {} has {} numbers; pairs of machine and duration "
                                                   "are expected, as in {} of {} machines",
                                                   rows.size() + 1, row.size(), 2 * machines, machines));
        return rows;
      }
      rows.push_back(std::move(row));
    }
    while (!text.atEnd()) {
      auto row = text.line();
      if (areNumbers(row)) {
        text.fail(text.at(row[0]), fmt::format("the file goes on after the last of {} jobs; one shop is read", jobs));
        return rows;
      }
    }
    return rows;
  }

  /// Durations of all jobs below "Times", then their machines below "Machines".
  std::vector<Words> sections(int64_t jobs, int64_t machines) {
    std::vector<Words> rows(jobs);
    for (int part : {1, 0}) {
      const char *heading = part ? "Times" : "Machines";
      auto line = text.line();
      if (line.size() != 1 || !line[0].equals_insensitive(heading)) {
        text.fail(text.at(line.empty() ? text.lastWord() : line[0]), fmt::format("expected the heading '{}'", heading));
        return rows;
      }
      for (int64_t job = 0; job < jobs; ++job) {
        auto row = text.line();
        if (std::cmp_not_equal(row.size(), machines)) {
          text.fail(text.at(row.empty() ? text.lastWord() : row[0]),
                    fmt::format("expected the row of job {} below '{}': {} numbers, found {}", job + 1, heading,
                                machines, row.size()));
          return rows;
        }
        rows[job].resize(2 * machines);
        for (int64_t i = 0; i < machines; ++i)
          rows[job][2 * i + part] = row[i];
      }
    }
    text.isDone("the last row of machines");
    return rows;
  }

  void addJob(size_t job, const Words &row, bool fromOne, int64_t machines) {
    for (size_t i = 0; i < row.size(); i += 2) {
      const std::string name = fmt::format("J{}.{}", job + 1, i / 2 + 1);
      auto machine = text.number(row[i], "the machine of " + name, {fromOne, machines - 1 + fromOne}),
           duration = text.number(row[i + 1], "the duration of " + name);
      if (!machine || !duration)
        return;
      auto task = problem.addTask(name, *duration, {{static_cast<uint32_t>(*machine - fromOne), 1}});
      problem.tasks[task].location = text.location(row[i]);
      if (i > 0)
        problem.addPrecedence(task - 1, task);
    }
  }

  Diagnostics &diags;
  FileId file;
  NumberText text;
  SchedulingProblem problem;
};

/// Of one operation: its modes. False after errors.
bool readOperation(NumberText &text, SchedulingProblem &problem, const std::string &name, int64_t machines) {
  auto choices = text.next("the number of machines of " + name, {1, machines});
  if (!choices)
    return false;
  auto &task = problem.tasks.emplace_back();
  task.name = name;
  task.location = text.location(text.lastWord());
  for (int64_t c = 0; c < *choices; ++c) {
    auto machine = text.next("a machine of " + name, {1, machines});
    SourceRange place = text.lastPlace();
    auto duration = text.next("the duration of " + name);
    if (!machine || !duration)
      return false;
    auto of = static_cast<uint32_t>(*machine - 1);
    for (const auto &mode : task.modes)
      if (mode.usage[0].of == of) {
        text.fail(place, fmt::format("{} has machine {} twice", name, *machine));
        return false;
      }
    task.modes.push_back({problem.resources[of].name, *duration, {{of, 1}}, {}, false});
  }
  return true;
}

} // namespace

std::optional<PsplibImport> importJobShop(Diagnostics &diags, FileId file) { return JobShopReader(diags, file).run(); }

std::optional<PsplibImport> importFlexibleJobShop(Diagnostics &diags, FileId file) {
  NumberText text(diags, file);
  if (!text.isReadable(kFlexibleHelp))
    return std::nullopt;
  text.skipComments();
  auto jobs = text.next("the number of jobs", {1, kMaxProjectTasks}),
       machines = text.next("the number of machines", {1, kMaxMachines});
  if (!jobs || !machines)
    return std::nullopt;
  if (!text.isEndOfLine()) // machines of an operation in the mean
    text.line();
  SchedulingProblem problem;
  for (int64_t m = 1; m <= *machines; ++m)
    problem.addResource(fmt::format("M{}", m), 1);
  for (int64_t job = 1; job <= *jobs && !text.failed(); ++job) {
    auto operations = text.next(fmt::format("the number of operations of job {}", job), {0, kMaxProjectTasks});
    for (int64_t i = 1; operations && i <= *operations; ++i) {
      if (!readOperation(text, problem, fmt::format("J{}.{}", job, i), *machines))
        return std::nullopt;
      auto last = static_cast<uint32_t>(problem.tasks.size() - 1);
      if (i > 1)
        problem.addPrecedence(last - 1, last);
    }
  }
  if (!text.isDone(fmt::format("the last of {} jobs", *jobs)) || !text.isSound(problem))
    return std::nullopt;
  return PsplibImport{std::move(problem), {}};
}

} // namespace accord
