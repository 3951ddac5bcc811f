#include "lib/import/psplib/Psplib.h"
#include "lib/import/psplib/PsplibText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace import {
namespace {

constexpr int64_t kMaxJobs = 1'000'000, kMax = int64_t(1) << 40;
constexpr const char *kKinds = "RND";

/// A resource as the file counts it: "N 2" is {'N', 2}.
struct Column {
  char kind = 'R';
  int64_t index = 1;
  std::string name() const { return fmt::format("{}{}", kind, index); }
};

class Reader {
public:
  Reader(Diagnostics &diags, FileId file) : diags(diags), text(diags, file), file(file) {}

  SchedulingProblem problem;
  std::vector<std::string> notes;

  /// Errors of a part would only be followed by others in what builds on it.
  void run() {
    size_t before = diags.errors();
    auto sound = [&] { return diags.errors() == before; };
    if (!text.split())
      return;
    head();
    resources();
    information();
    if (!sound())
      return;
    availabilities();
    precedences();
    if (!sound())
      return;
    requests();
    if (sound())
      checked();
  }

private:
  using Section = PsplibText::Section;

  struct Job {
    llvm::StringRef line, request; ///< of its successors, of its first mode
    int64_t modes = 0;
  };

  /// "key : value" lines; the value of one key.
  void head() {
    bool found = false;
    for (llvm::StringRef line : text.lines(PsplibText::Head)) {
      auto [left, right] = line.split(':');
      llvm::StringRef key = left.trim(), value = right.trim();
      bool jobs = key.starts_with_insensitive("jobs");
      if (jobs && found)
        text.reportInvalid(line, "the number of jobs is there twice");
      if (jobs && !found) {
        found = true;
        if (auto number = text.number(value.empty() ? line : value, "the number of jobs", 0, kMaxJobs))
          list.resize(*number);
      } else if (key.equals_insensitive("projects")) {
        auto number = text.number(value.empty() ? line : value, "the number of projects", 1, kMax);
        if (number && *number != 1)
          diags.error(Code::ImportUnsupported, text.at(value),
                      fmt::format("{} projects in one file; one is read", *number));
      } else if (!line.contains(':')) {
        text.reportInvalid(line, "expected 'key : value' before the first section");
      }
    }
    if (!found)
      diags.error(Code::ImportSetting, {file, 0, 0}, "the head does not say how many jobs there are")
          .help("jobs (incl. supersource/sink ):  32");
  }

  /// "- renewable : 4 R"
  void resources() {
    bool found[3] = {};
    for (llvm::StringRef line : text.lines(PsplibText::Resources)) {
      auto [left, right] = line.split(':');
      llvm::StringRef key = left.trim("- \t");
      int kind = key.equals_insensitive("renewable")            ? 0
                 : key.equals_insensitive("nonrenewable")       ? 1
                 : key.equals_insensitive("doubly constrained") ? 2
                                                                : -1;
      auto words = PsplibText::words(right);
      if (kind < 0 || words.empty() || found[kind]) {
        text.reportInvalid(line, kind >= 0 && found[kind] ? fmt::format("'{}' is there twice", key.str())
                                                          : "expected '- renewable', '- nonrenewable' or '- doubly "
                                                            "constrained', each ': count'");
        continue;
      }
      found[kind] = true;
      if (auto count = text.number(words[0], fmt::format("the count of {} resources", key.str()), 0, 1000))
        counts[kind] = *count;
    }
    if (!found[0] && !found[1] && !found[2])
      diags
          .error(Code::ImportSetting, text.heading(PsplibText::Resources),
                 "the section says of no kind of resource how many there are")
          .help("- renewable                 :  4   R");
  }

  /// pronr., #jobs, rel.date, duedate, tardcost, MPM-Time
  void information() {
    for (llvm::StringRef line : text.lines(PsplibText::Information)) {
      auto words = PsplibText::words(line);
      if (words.size() < 3 || !llvm::isDigit(words[0][0]))
        continue;
      if (auto release = text.number(words[2], "the release date", 0, kMax); release && *release)
        diags.error(Code::ImportUnsupported, text.at(words[2]),
                    fmt::format("the project is released at {}; only projects that may start at 0 "
                                "are read",
                                *release));
    }
  }

  /// "R 1  R 2  N 1" of a heading row; each resource once.
  std::vector<Column> columns(llvm::StringRef row, llvm::ArrayRef<llvm::StringRef> words) {
    std::vector<Column> columns;
    auto fail = [&](llvm::StringRef at, const std::string &message) {
      text.reportInvalid(at, message)
          .help(fmt::format("RESOURCES has {} R, {} N and {} D", counts[0], counts[1], counts[2]));
      return std::vector<Column>();
    };
    std::vector<bool> seen[3];
    for (int kind = 0; kind < 3; ++kind)
      seen[kind].resize(counts[kind]);
    for (size_t i = 0; i < words.size(); ++i) {
      llvm::StringRef word = words[i], digits = word.drop_front();
      size_t kind = llvm::StringRef(kKinds).find(llvm::toUpper(word[0]));
      if (digits.empty() && i + 1 < words.size())
        digits = words[++i];
      int64_t index = 0;
      if (kind == llvm::StringRef::npos || digits.getAsInteger(10, index) || index < 1 || index > counts[kind])
        return fail(word, "expected a resource of those declared, as in 'R 1'");
      if (seen[kind][index - 1])
        return fail(word, fmt::format("resource '{} {}' has two columns", kKinds[kind], index));
      seen[kind][index - 1] = true;
      columns.push_back({kKinds[kind], index});
    }
    auto declared = static_cast<size_t>(counts[0] + counts[1] + counts[2]);
    if (columns.size() != declared)
      return fail(row, fmt::format("{} columns of resources, {} are declared", columns.size(), declared));
    return columns;
  }

  void availabilities() {
    const auto &lines = text.lines(PsplibText::Availabilities);
    SourceRange section = text.heading(PsplibText::Availabilities);
    if (counts[0] + counts[1] + counts[2] == 0 && lines.empty())
      return;
    if (lines.size() != 2) {
      diags.error(Code::ImportSetting, lines.size() > 2 ? text.at(lines[2]) : section,
                  fmt::format("the section has {} rows; a heading and the availabilities are "
                              "expected",
                              lines.size()));
      return;
    }
    size_t errors = diags.errors();
    auto names = columns(lines[0], PsplibText::words(lines[0]));
    auto values = PsplibText::words(lines[1]);
    if (diags.errors() != errors)
      return;
    if (values.size() != names.size()) {
      text.reportInvalid(lines[1], fmt::format("this row has {} columns, its heading {}", values.size(), names.size()));
      return;
    }
    for (int kind = 0; kind < 3; ++kind) {
      capacity[kind].resize(counts[kind]);
      place[kind].resize(counts[kind]);
    }
    for (size_t i = 0; i < names.size(); ++i)
      if (auto value = text.number(values[i], "the availability of " + names[i].name(), 0, kMax)) {
        auto kind = llvm::StringRef(kKinds).find(names[i].kind);
        capacity[kind][names[i].index - 1] = *value;
        place[kind][names[i].index - 1] = values[i];
      }
    for (size_t kind : {0, 2}) // ids: R then D, N then D
      for (size_t i = 0; i < capacity[kind].size(); ++i)
        problem.addResource(fmt::format("{}{}", kKinds[kind], i + 1), capacity[kind][i]);
    for (size_t kind : {1, 2})
      for (size_t i = 0; i < capacity[kind].size(); ++i)
        problem.budgets.push_back({fmt::format("{}{}", kKinds[kind], i + 1), capacity[kind][i]});
    if (counts[2] > 0)
      notes.push_back("the availability of a doubly constrained resource limits what runs at a "
                      "time, and the sum of all requests");
  }

  std::optional<size_t> job(llvm::StringRef word, const char *what) {
    if (list.empty()) {
      text.reportInvalid(word, "the head says that there are no jobs");
      return std::nullopt;
    }
    auto number = text.number(word, what, 1, list.size());
    return number ? std::optional(static_cast<size_t>(*number - 1)) : std::nullopt;
  }

  /// The rows of a section behind its heading, which begins with a word.
  llvm::ArrayRef<llvm::StringRef> rows(Section section) const {
    llvm::ArrayRef<llvm::StringRef> lines = text.lines(section);
    return !lines.empty() && llvm::isAlpha(lines[0][0]) ? lines.drop_front() : lines;
  }

  /// jobnr., #modes, #successors, successors
  void precedences() {
    size_t errors = diags.errors();
    for (llvm::StringRef line : rows(PsplibText::Precedences)) {
      auto words = PsplibText::words(line);
      if (words.size() < 3) {
        text.reportInvalid(line, fmt::format("this row has {} columns; job, modes, number of successors and "
                                             "the successors are expected",
                                             words.size()));
        continue;
      }
      auto at = job(words[0], "the job number");
      auto modes = text.number(words[1], "the number of modes", 1, 10'000);
      auto count = text.number(words[2], "the number of successors", 0, kMaxJobs);
      if (!at || !modes || !count)
        continue;
      if (!list[*at].line.empty()) {
        text.reportInvalid(words[0], fmt::format("job {} is there twice", *at + 1))
            .note(text.at(list[*at].line), "its other row");
        continue;
      }
      list[*at].line = line;
      list[*at].modes = *modes;
      if (static_cast<size_t>(*count) != words.size() - 3)
        text.reportInvalid(words[2], fmt::format("job {} has {} successors by this column, and {} in the "
                                                 "row",
                                                 *at + 1, *count, words.size() - 3));
      for (llvm::StringRef word : llvm::ArrayRef(words).drop_front(3))
        if (auto next = job(word, "a successor"))
          problem.addPrecedence(SchedulingProblem::Id(*at), SchedulingProblem::Id(*next));
    }
    if (diags.errors() == errors)
      missing(PsplibText::Precedences, [](const Job &job) { return job.line.empty(); });
  }

  template <typename Lacks> void missing(Section section, Lacks lacks) {
    size_t count = 0, first = 0;
    for (size_t j = list.size(); j-- > 0;)
      if (lacks(list[j]))
        ++count, first = j;
    if (count > 0)
      diags.error(Code::ImportSetting, text.heading(section),
                  count == 1 ? fmt::format("job {} has no row in {}", first + 1, PsplibText::nameOf(section).str())
                             : fmt::format("{} jobs have no row in {}, the first is job {}", count,
                                           PsplibText::nameOf(section).str(), first + 1));
  }

  /// jobnr., mode, duration, resources; the further modes of a job without jobnr.
  void requests() {
    problem.tasks.resize(list.size());
    llvm::ArrayRef<llvm::StringRef> lines = text.lines(PsplibText::Requests);
    if (lines.empty() && list.empty())
      return;
    auto heading = lines.empty() ? PsplibText::words("") : PsplibText::words(lines[0]);
    if (heading.size() < 3 || !llvm::isAlpha(heading[0][0])) {
      diags.error(Code::ImportSetting, lines.empty() ? text.heading(PsplibText::Requests) : text.at(lines[0]),
                  "expected the heading 'jobnr. mode duration' and the resources");
      return;
    }
    size_t errors = diags.errors();
    std::vector<Column> kinds = columns(lines[0], llvm::ArrayRef(heading).drop_front(3));
    if (diags.errors() != errors)
      return;
    std::optional<size_t> current;
    for (llvm::StringRef line : lines.drop_front()) {
      auto words = PsplibText::words(line);
      bool first = words.size() == kinds.size() + 3;
      if (!first && words.size() != kinds.size() + 2) {
        text.reportInvalid(line, fmt::format("this row has {} columns; {} are expected, or {} for another "
                                             "mode of the job before",
                                             words.size(), kinds.size() + 3, kinds.size() + 2));
        continue;
      }
      if (first) {
        current = job(words[0], "the job number");
        if (current && !list[*current].request.empty()) {
          text.reportInvalid(words[0], fmt::format("job {} is there twice", *current + 1))
              .note(text.at(list[*current].request), "its other row");
          current.reset();
          continue;
        }
        if (current)
          list[*current].request = line;
      } else if (!current) {
        text.reportInvalid(line, "a further mode needs a job before it");
      }
      if (current)
        mode(*current, llvm::ArrayRef(words).drop_front(first), kinds);
    }
    if (diags.errors() == errors)
      missing(PsplibText::Requests, [](const Job &job) { return job.request.empty(); });
    if (diags.errors() == errors)
      for (size_t j = 0; j < list.size(); ++j)
        fits(j, kinds);
  }

  void mode(size_t at, llvm::ArrayRef<llvm::StringRef> words, const std::vector<Column> &kinds) {
    auto &modes = problem.tasks[at].modes;
    auto expected = static_cast<int64_t>(modes.size()) + 1;
    text.number(words[0], fmt::format("the next mode of job {}", at + 1), expected, expected);
    auto &mode = modes.emplace_back();
    mode.name = std::to_string(expected);
    mode.duration = text.number(words[1], "the duration", 0, kMax).value_or(0);
    for (size_t i = 0; i < kinds.size(); ++i) {
      auto amount = text.number(words[i + 2], "the request for " + kinds[i].name(), 0, kMax);
      auto id = static_cast<SchedulingProblem::Id>(kinds[i].index - 1);
      if (!amount || *amount == 0)
        continue;
      if (kinds[i].kind != 'N')
        mode.usage.push_back({kinds[i].kind == 'D' ? id + SchedulingProblem::Id(counts[0]) : id, *amount});
      if (kinds[i].kind != 'R')
        mode.spends.push_back({kinds[i].kind == 'D' ? id + SchedulingProblem::Id(counts[1]) : id, *amount});
    }
  }

  /// As many modes as announced, and one at least within the availabilities.
  void fits(size_t at, const std::vector<Column> &kinds) {
    const auto &modes = problem.tasks[at].modes;
    const Job &job = list[at];
    if (static_cast<int64_t>(modes.size()) != job.modes)
      text.reportInvalid(job.request, fmt::format("job {} has {} modes here, and {} in {}", at + 1, modes.size(),
                                                  job.modes, PsplibText::nameOf(PsplibText::Precedences).str()))
          .note(text.at(job.line), "its successors and number of modes");
    auto limited = [](const auto &uses, const auto &all) {
      return llvm::any_of(uses, [&](const auto &use) { return use.amount > all[use.of].capacity; });
    };
    for (const auto &mode : modes)
      if (!limited(mode.usage, problem.resources) && !limited(mode.spends, problem.budgets))
        return;
    auto words = PsplibText::words(job.request);
    for (size_t i = 0; i < kinds.size(); ++i) {
      size_t kind = llvm::StringRef(kKinds).find(kinds[i].kind);
      auto index = static_cast<size_t>(kinds[i].index - 1);
      int64_t amount = 0;
      if (words[i + 3].getAsInteger(10, amount) || amount <= capacity[kind][index])
        continue;
      text.reportInvalid(words[i + 3],
                         fmt::format("job {} requests {} of {}, which has {}{}", at + 1, amount, kinds[i].name(),
                                     capacity[kind][index], modes.size() > 1 ? ", and no other mode fits" : ""))
          .note(text.at(place[kind][index]), fmt::format("the availability of {}", kinds[i].name()));
      return;
    }
  }

  /// What only the whole can tell: cycles.
  void checked() {
    std::string path = diags.sources().path(file).str();
    for (size_t j = 0; j < list.size(); ++j) {
      Position position = diags.sources().position(text.at(list[j].line));
      problem.tasks[j].name = std::to_string(j + 1);
      problem.tasks[j].location = {path, position.line, position.column};
    }
    problem.name = llvm::sys::path::stem(path).str();
    auto range = [&](const SourceLocation &at) { return diags.sources().at(file, {at.line, at.column}); };
    for (const Error &issue : check(problem)) {
      auto error = diags.error(Code::ImportSetting, range(issue.location), issue.message);
      for (const auto &[at, note] : issue.notes)
        error.note(range(at), note);
    }
  }

  Diagnostics &diags;
  PsplibText text;
  FileId file;
  std::vector<Job> list;
  int64_t counts[3] = {};
  std::vector<int64_t> capacity[3];
  std::vector<llvm::StringRef> place[3]; ///< of the availabilities
};

} // namespace
} // namespace import

std::optional<PsplibImport> importPsplib(Diagnostics &diags, FileId file) {
  size_t before = diags.errors();
  import::Reader reader(diags, file);
  reader.run();
  if (diags.errors() != before)
    return std::nullopt;
  return PsplibImport{std::move(reader.problem), std::move(reader.notes)};
}

} // namespace accord
