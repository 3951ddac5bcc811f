#include "lib/scheduling/output/SchedulingJson.h"
#include "lib/scheduling/output/SchedulingKeywords.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

namespace accord {
namespace {

using Problem = SchedulingProblem;
using Id = Problem::Id;

/// A problem whose parts refer to each other by name.
struct ProblemDocument {
  struct Part {
    std::string name;
    int64_t capacity = 0;
  };
  struct Amount {
    std::string of;
    int64_t amount = 0;
  };
  struct Mode {
    std::string name;
    int64_t duration = 0;
    std::vector<Amount> uses, consumes;
    bool absent = false;
  };
  struct Task {
    std::string name;
    std::vector<Mode> modes;
  };
  struct Precedence {
    std::string before, after;
    int64_t delay = 0;
  };
  struct TimeLag {
    std::string before, after;
    int64_t lag = 0;
  };
  struct Reader {
    std::string task, unless;
  };
  struct Buffer {
    std::string name;
    int64_t bytes = 0;
    std::string memory, producer;
    std::vector<Reader> readers;
    bool persistent = false;
  };
  struct Pairing {
    std::string a, b;
    std::vector<std::array<int64_t, 2>> allowed;
  };
  std::string name;
  std::vector<Part> resources, budgets, memories;
  std::vector<Task> tasks;
  std::vector<Precedence> precedences;
  std::vector<TimeLag> lags;
  std::vector<Buffer> buffers;
  std::vector<Pairing> pairings;
};

void describePart(JsonFields &f, ProblemDocument::Part &part) {
  f.field("name", part.name).field("capacity", part.capacity);
}

void describeMode(JsonFields &f, ProblemDocument::Mode &mode) {
  f.maybe("name", mode.name)
      .about("the task does not happen: no duration, no amounts; at most one mode of a task")
      .maybe("absent", mode.absent);
  bool required = !mode.absent && f.mode() != JsonFields::Mode::Describe;
  f.about("whole units of any time; of every mode that is not absent")
      .visit("duration", required, !mode.absent, [&](JsonVisitor &v) { visitValue(v, mode.duration); });
  f.about("of resources, from start to end")
      .maybe(
          "uses", mode.uses,
          [](JsonFields &g, ProblemDocument::Amount &use) { g.field("resource", use.of).field("amount", use.amount); })
      .about("of budgets, once")
      .maybe("consumes", mode.consumes, [](JsonFields &g, ProblemDocument::Amount &use) {
        g.field("budget", use.of).field("amount", use.amount);
      });
}

void describe(JsonFields &f, ProblemDocument &d) {
  f.constant("kind", "scheduling_problem", "expected scheduling_problem")
      .maybe("name", d.name)
      .about("free again when a task ends: cores, links, machines; parts refer to each other by name, or by number "
             "where names are missing or alike (\"#3\", from 0)")
      .maybe("resources", d.resources, describePart)
      .about("what all chosen modes together may spend")
      .maybe("budgets", d.budgets, describePart)
      .about("with capacities in bytes")
      .maybe("memories", d.memories, describePart)
      .about("operations, or jobs of a project")
      .field(
          "tasks", d.tasks,
          [](JsonFields &g, ProblemDocument::Task &task) {
            g.field("name", task.name).about("one of which the task runs in").field("modes", task.modes, describeMode);
          })
      .about("start of after >= end of before + delay, where both happen")
      .maybe("precedences", d.precedences,
             [](JsonFields &g, ProblemDocument::Precedence &edge) {
               g.field("before", edge.before).field("after", edge.after).maybe("delay", edge.delay);
             })
      .about(
          "start of after >= start of before + lag, where both happen; a negative lag is a maximum: before starts at "
          "most so long after after. Lags may form cycles")
      .maybe("time_lags", d.lags,
             [](JsonFields &g, ProblemDocument::TimeLag &lag) {
               g.field("before", lag.before).field("after", lag.after).field("lag", lag.lag, kAnyInteger);
             })
      .about("from the start of the producer (or 0) to the end of the last reader that happens")
      .maybe("buffers", d.buffers,
             [](JsonFields &g, ProblemDocument::Buffer &buffer) {
               g.maybe("name", buffer.name)
                   .field("bytes", buffer.bytes)
                   .field("memory", buffer.memory)
                   .maybe("producer", buffer.producer)
                   .maybe("readers", buffer.readers,
                          [](JsonFields &h, ProblemDocument::Reader &reader) {
                            h.field("task", reader.task)
                                .about("an optional task; where it happens, this one reads another copy")
                                .maybe("unless", reader.unless);
                          })
                   .about("kept to the end of all")
                   .maybe("persistent", buffer.persistent);
             })
      .about("modes of two tasks that go together, by index from 0; all other combinations are forbidden")
      .maybe("pairings", d.pairings, [](JsonFields &g, ProblemDocument::Pairing &pairing) {
        g.field("a", pairing.a).field("b", pairing.b).field("allowed", pairing.allowed);
      });
}

ProblemDocument documentOf(const Problem &p) {
  std::vector<std::string> tasks = namesOf(p.tasks), resources = namesOf(p.resources), budgets = namesOf(p.budgets),
                           memories = namesOf(p.memories);
  ProblemDocument d;
  d.name = p.name;
  auto parts = [](const auto &from, std::vector<ProblemDocument::Part> &to) {
    for (const auto &one : from)
      to.push_back({one.name, one.capacity});
  };
  parts(p.resources, d.resources);
  parts(p.budgets, d.budgets);
  parts(p.memories, d.memories);
  for (const Problem::Task &task : p.tasks) {
    ProblemDocument::Task &made = d.tasks.emplace_back();
    made.name = task.name;
    for (const Problem::Mode &mode : task.modes) {
      ProblemDocument::Mode &one = made.modes.emplace_back(mode.name, mode.duration);
      one.absent = mode.absent;
      for (const Problem::Usage &use : mode.usage)
        one.uses.push_back({resources[use.of], use.amount});
      for (const Problem::Usage &use : mode.spends)
        one.consumes.push_back({budgets[use.of], use.amount});
    }
  }
  for (const Problem::Precedence &edge : p.precedences)
    d.precedences.push_back({tasks[edge.before], tasks[edge.after], edge.delay});
  for (const Problem::TimeLag &lag : p.lags)
    d.lags.push_back({tasks[lag.before], tasks[lag.after], lag.lag});
  auto nameOf = [&](Id task) { return task == Problem::kNoTask ? std::string() : tasks[task]; };
  for (const Problem::Buffer &buffer : p.buffers) {
    ProblemDocument::Buffer &made = d.buffers.emplace_back(buffer.name, buffer.bytes, memories[buffer.memory]);
    made.producer = nameOf(buffer.producer);
    for (const Problem::Reader &reader : buffer.readers)
      made.readers.push_back({nameOf(reader.task), nameOf(reader.unless)});
    made.persistent = buffer.persistent;
  }
  for (const Problem::Pairing &pairing : p.pairings) {
    ProblemDocument::Pairing &made = d.pairings.emplace_back(nameOf(pairing.a), nameOf(pairing.b));
    for (auto [a, b] : pairing.allowed)
      made.allowed.push_back({a, b});
  }
  return d;
}

/// Names of one kind of part -> numbers.
class Names {
public:
  template <typename Part> Names(const std::vector<Part> &parts, const char *kind) : kind(kind), size(parts.size()) {
    for (size_t i = 0; i < parts.size(); ++i) {
      auto [known, isNew] = byName.try_emplace(parts[i].name, static_cast<Id>(i));
      if (!isNew)
        known->second = Problem::kNoTask; // two of one name
    }
  }

  std::optional<Id> find(llvm::StringRef name) const {
    Id id = 0;
    if (name.consume_front("#"))
      return !name.getAsInteger(10, id) && id < size ? std::optional(id) : std::nullopt;
    auto found = byName.find(name.str());
    return found == byName.end() || found->second == Problem::kNoTask ? std::nullopt : std::optional(found->second);
  }

  /// What is wrong with a name that is not found.
  std::string whyNot(const std::string &name) const {
    if (byName.count(name))
      return fmt::format("there are several of the name '{}': expected \"#\" and the number of one, from 0", name);
    if (!name.empty() && name[0] == '#')
      return fmt::format("expected #0 to #{}, found '{}'", size - 1, name);
    return fmt::format("no {} has the name '{}'{}", kind, name, size == 0 ? ": there is none" : "");
  }
  std::string near(const std::string &name) const {
    std::vector<std::string> candidates;
    for (const auto &[known, id] : byName)
      candidates.push_back(known);
    return nearest(name, candidates);
  }

private:
  const char *kind;
  size_t size;
  std::map<std::string, Id> byName;
};

class Resolver {
public:
  Resolver(const ProblemDocument &document, llvm::StringRef text, const std::string &file)
      : d(document), text(text), file(file), tasks(d.tasks, "task"), resources(d.resources, "resource"),
        budgets(d.budgets, "budget"), memories(d.memories, "memory") {}

  Result<Problem, Errors> run() {
    p.name = d.name;
    for (const auto &one : d.resources)
      p.resources.push_back({one.name, one.capacity});
    for (const auto &one : d.budgets)
      p.budgets.push_back({one.name, one.capacity});
    for (const auto &one : d.memories)
      p.memories.push_back({one.name, one.capacity});
    addTasks();
    for (size_t i = 0; i < d.precedences.size(); ++i)
      p.addPrecedence(id(tasks, d.precedences[i].before, {"precedences", i, "before"}),
                      id(tasks, d.precedences[i].after, {"precedences", i, "after"}), d.precedences[i].delay);
    for (size_t i = 0; i < d.lags.size(); ++i)
      p.lags.push_back({id(tasks, d.lags[i].before, {"time_lags", i, "before"}),
                        id(tasks, d.lags[i].after, {"time_lags", i, "after"}), d.lags[i].lag});
    for (size_t i = 0; i < d.buffers.size(); ++i)
      addBuffer(i);
    for (size_t i = 0; i < d.pairings.size(); ++i)
      addPairing(i);
    if (errors.empty())
      errors = check(p);
    if (!errors.empty())
      return std::move(errors);
    return std::move(p);
  }

private:
  Id id(const Names &names, const std::string &name, std::initializer_list<JsonStep> steps) {
    if (auto found = names.find(name))
      return *found;
    if (errors.size() < 20) {
      errors.push_back(errorAt(text, file, llvm::ArrayRef(steps), Code::BadPlan, names.whyNot(name)));
      errors.back().suggestion = names.near(name);
    }
    return 0;
  }

  void addTasks() {
    auto places = elementPlaces(text, "tasks");
    unsigned line = 1;
    size_t lineStart = 0, at = 0;
    for (size_t t = 0; t < d.tasks.size(); ++t) {
      Problem::Task &task = p.tasks.emplace_back();
      task.name = d.tasks[t].name;
      if (t < places.size()) {
        for (; at < places[t].first; ++at)
          if (text[at] == '\n')
            ++line, lineStart = at + 1;
        task.location = {file, line, static_cast<unsigned>(places[t].first - lineStart + 1)};
      }
      for (size_t m = 0; m < d.tasks[t].modes.size(); ++m)
        addMode(task, t, m);
    }
  }

  void addMode(Problem::Task &task, size_t t, size_t m) {
    const ProblemDocument::Mode &from = d.tasks[t].modes[m];
    Problem::Mode &mode = task.modes.emplace_back();
    mode.name = from.name;
    mode.duration = from.duration;
    mode.absent = from.absent;
    for (size_t u = 0; u < from.uses.size(); ++u)
      mode.usage.push_back(
          {id(resources, from.uses[u].of, {"tasks", t, "modes", m, "uses", u, "resource"}), from.uses[u].amount});
    for (size_t u = 0; u < from.consumes.size(); ++u)
      mode.spends.push_back({id(budgets, from.consumes[u].of, {"tasks", t, "modes", m, "consumes", u, "budget"}),
                             from.consumes[u].amount});
  }

  void addBuffer(size_t i) {
    const ProblemDocument::Buffer &from = d.buffers[i];
    Problem::Buffer &buffer = p.buffers.emplace_back();
    buffer.name = from.name;
    buffer.bytes = from.bytes;
    buffer.memory = id(memories, from.memory, {"buffers", i, "memory"});
    if (!from.producer.empty())
      buffer.producer = id(tasks, from.producer, {"buffers", i, "producer"});
    buffer.persistent = from.persistent;
    for (size_t r = 0; r < from.readers.size(); ++r) {
      Problem::Reader &reader = buffer.readers.emplace_back();
      reader.task = id(tasks, from.readers[r].task, {"buffers", i, "readers", r, "task"});
      if (!from.readers[r].unless.empty())
        reader.unless = id(tasks, from.readers[r].unless, {"buffers", i, "readers", r, "unless"});
    }
  }

  void addPairing(size_t i) {
    const ProblemDocument::Pairing &from = d.pairings[i];
    Problem::Pairing &pairing = p.pairings.emplace_back();
    pairing.a = id(tasks, from.a, {"pairings", i, "a"});
    pairing.b = id(tasks, from.b, {"pairings", i, "b"});
    constexpr int64_t kMaxMode = std::numeric_limits<Id>::max();
    for (auto [a, b] : from.allowed) // what is beyond every mode stays beyond
      pairing.allowed.emplace_back(std::min(a, kMaxMode), std::min(b, kMaxMode));
  }

  const ProblemDocument &d;
  llvm::StringRef text;
  const std::string &file;
  Names tasks, resources, budgets, memories;
  Problem p;
  Errors errors;
};

} // namespace

std::string schedulingJson(const Problem &problem) { return jsonText(toDocument(documentOf(problem))) + "\n"; }

Result<Problem, Errors> readSchedulingJson(const std::string &text, const std::string &file) {
  auto document = readJsonDocument<ProblemDocument>(text, file, "problem",
                                                    [](const llvm::json::Value &value, ProblemDocument &read,
                                                       llvm::json::Path at) { return readDocument(value, read, at); });
  if (!document)
    return Errors{placedError(document.takeError(), file, Code::BadPlan)};
  return Resolver(*document, text, file).run();
}

llvm::json::Value schedulingProblemSchema() { return schemaOf<ProblemDocument>(); }

} // namespace accord
