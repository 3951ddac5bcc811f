#include "lib/tuning/output/OptunaJournal.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::tuning {
namespace {
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

enum Operation : int64_t {
  CreateStudy = 0,
  DeleteStudy = 1,
  CreateTrial = 4,
  SetParameter = 5,
  SetState = 6,
  SetIntermediate = 7,
  LastOperation = 9 ///< those between say nothing of values
};
enum TrialState : int64_t { Complete = 1, Pruned = 2, Failed = 3 };
enum Direction : int64_t { Minimize = 1, Maximize = 2 };

// ---- Writing

/// A choice as Optuna has it: numbers, truth values and words.
Value choiceValue(const std::string &choice) {
  if (auto parsed = llvm::json::parse(choice)) {
    if (parsed->kind() == Value::Number || parsed->kind() == Value::Boolean)
      return *parsed;
  } else {
    llvm::consumeError(parsed.takeError());
  }
  return choice;
}

/// The distribution of a hyper-parameter, as text within JSON.
std::string distributionText(const HyperParameter &parameter) {
  if (parameter.kind == HyperParameter::Kind::Choice) {
    Array choices;
    for (const std::string &choice : parameter.choices)
      choices.push_back(choiceValue(choice));
    return jsonLine(
        Object{{"name", "CategoricalDistribution"}, {"attributes", Object{{"choices", std::move(choices)}}}});
  }
  Object range{{"log", parameter.isLog}};
  if (parameter.kind == HyperParameter::Kind::Real) {
    range["low"] = parameter.min, range["high"] = parameter.max, range["step"] = nullptr;
    return jsonLine(Object{{"name", "FloatDistribution"}, {"attributes", std::move(range)}});
  }
  range["low"] = static_cast<int64_t>(parameter.min), range["high"] = static_cast<int64_t>(parameter.max);
  range["step"] = 1;
  return jsonLine(Object{{"name", "IntDistribution"}, {"attributes", std::move(range)}});
}

std::string momentText(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const auto micro = static_cast<int>((seconds - static_cast<double>(whole)) * 1e6);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00", fmt::gmtime(whole), micro);
}

int64_t stateOf(const Trial &trial) {
  switch (trial.state) {
  case Trial::State::Complete:
    return Complete;
  case Trial::State::Diverged:
  case Trial::State::Failed:
    return Failed;
  default:
    return Pruned;
  }
}

// ---- Reading

struct JournalTrial {
  int64_t study = 0;
  std::map<std::string, double> values;                ///< as Optuna stores them: of a choice its index
  std::map<std::string, HyperParameter> distributions; ///< by name
  std::map<int64_t, double> reports;                   ///< by step
  std::optional<double> last;                          ///< the value of a trial that ended
};
struct JournalStudy {
  std::string name;
  std::vector<int64_t> directions;
  bool isDeleted = false;
};

/// A choice as the language writes it.
std::string choiceText(const Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  return jsonLine(value);
}

class Reader {
public:
  Reader(StringRef text, const std::string &file) : text_(text), file_(file) {}

  Result<TuningReport> read(const SearchSpace &space, const std::string &name) {
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      if (end == StringRef::npos)
        break; // it is being written
      ++line_;
      if (const StringRef line = text_.take_front(end).trim(); !line.empty())
        if (std::string wrong = operation(line); !wrong.empty())
          return Error{Code::WrongJobSchedule, fmt::format("{}:{}: {}", file_, line_, wrong)};
      text_ = text_.drop_front(end + 1);
    }
    return tuningOf(space, name);
  }

private:
  /// What is wrong with a line; empty: nothing.
  std::string operation(StringRef line) {
    auto parsed = llvm::json::parse(pythonNumbers(line));
    if (!parsed)
      return "no JSON: " + llvm::toString(parsed.takeError());
    const Object *object = parsed->getAsObject();
    const auto code = object ? object->getInteger("op_code") : std::nullopt;
    if (!code || *code < 0 || *code > LastOperation)
      return "no operation of Optuna's journal";
    switch (*code) {
    case CreateStudy:
      return addStudy(*object);
    case DeleteStudy: {
      JournalStudy *study = studyOf(*object);
      return study ? (study->isDeleted = true, "") : "there is no such study";
    }
    case CreateTrial:
      return addTrial(*object);
    case SetParameter:
    case SetState:
    case SetIntermediate:
      break;
    default:
      return "";
    }
    const auto number = object->getInteger("trial_id");
    if (!number || *number < 0 || static_cast<size_t>(*number) >= trials_.size())
      return "there is no such trial";
    JournalTrial &trial = trials_[static_cast<size_t>(*number)];
    if (*code == SetParameter)
      return addParameter(trial, object->getString("param_name").value_or(""), object->get("param_value_internal"),
                          object->getString("distribution").value_or(""));
    if (*code == SetState)
      return addValue(trial, *object);
    const auto step = object->getInteger("step");
    const auto value = object->getNumber("intermediate_value");
    if (step && value && *step >= 0)
      trial.reports[*step] = *value;
    return step ? "" : "an intermediate value has no step";
  }

  /// Python writes NaN and infinities, which JSON does not have.
  static std::string pythonNumbers(StringRef line) {
    std::string out = line.str();
    for (StringRef word : {": -Infinity", ": Infinity", ": NaN", ":-Infinity", ":Infinity", ":NaN", "[NaN]"})
      for (size_t at; (at = out.find(word)) != std::string::npos;)
        out.replace(at, word.size(), word.starts_with("[") ? "[null]" : ":null");
    return out;
  }

  JournalStudy *studyOf(const Object &object) {
    const auto number = object.getInteger("study_id");
    return number && *number >= 0 && static_cast<size_t>(*number) < studies_.size()
               ? &studies_[static_cast<size_t>(*number)]
               : nullptr;
  }

  std::string addStudy(const Object &object) {
    JournalStudy study;
    study.name = object.getString("study_name").value_or("").str();
    if (const Array *directions = object.getArray("directions"))
      for (const Value &one : *directions)
        study.directions.push_back(one.getAsInteger().value_or(0));
    studies_.push_back(std::move(study));
    return "";
  }

  /// Those that somebody added have their values here.
  std::string addTrial(const Object &object) {
    if (!studyOf(object))
      return "there is no such study";
    JournalTrial &trial = trials_.emplace_back();
    trial.study = *object.getInteger("study_id");
    const Object *parameters = object.getObject("params"), *distributions = object.getObject("distributions");
    for (const auto &[name, value] : parameters &&distributions ? *parameters : Object())
      if (std::string wrong = addParameter(trial, name, &value, distributions->getString(name).value_or(""));
          !wrong.empty())
        return wrong;
    if (const Object *values = object.getObject("intermediate_values"))
      for (const auto &[step, value] : *values) {
        int64_t number = 0;
        if (!StringRef(step).getAsInteger(10, number) && value.getAsNumber())
          trial.reports[number] = *value.getAsNumber();
      }
    return addValue(trial, object);
  }

  static std::string addValue(JournalTrial &trial, const Object &object) {
    const auto state = object.getInteger("state");
    if (state != Complete && state != Pruned)
      return "";
    if (const Array *values = object.getArray("values"); values && values->size() == 1)
      trial.last = values->front().getAsNumber();
    else if (auto value = object.getNumber("value"))
      trial.last = *value;
    return "";
  }

  static std::string addParameter(JournalTrial &trial, StringRef name, const Value *value, StringRef distribution) {
    const auto number = value ? value->getAsNumber() : std::nullopt;
    auto parsed = llvm::json::parse(distribution);
    if (!parsed)
      return "no distribution: " + llvm::toString(parsed.takeError());
    const Object *object = parsed->getAsObject();
    const Object *range = object ? object->getObject("attributes") : nullptr;
    const StringRef kind = object ? object->getString("name").value_or("") : "";
    if (!number || !range)
      return fmt::format("the value or the distribution of '{}' is none", name.str());
    HyperParameter made{.name = name.str()};
    if (kind == "CategoricalDistribution") {
      made.kind = HyperParameter::Kind::Choice;
      const Array *choices = range->getArray("choices");
      for (const Value &one : choices ? *choices : Array())
        made.choices.push_back(choiceText(one));
      if (!(*number >= 0) || *number >= static_cast<double>(made.choices.size()) || *number != std::floor(*number))
        return fmt::format("'{}' has no choice {}", name.str(), *number);
    } else {
      // Before version 3 there were kinds of their own for logarithms and steps.
      made.kind = kind.starts_with("Int") ? HyperParameter::Kind::Integer : HyperParameter::Kind::Real;
      made.isLog = range->getBoolean("log").value_or(kind.starts_with("LogUniform") || kind.starts_with("IntLog"));
      made.min = range->getNumber("low").value_or(*number), made.max = range->getNumber("high").value_or(*number);
    }
    trial.values[made.name] = *number;
    trial.distributions[made.name] = std::move(made);
    return "";
  }

  /// The study that is meant.
  Result<int64_t> chosen(const std::string &name) const {
    std::vector<std::string> names;
    std::vector<int64_t> left;
    for (size_t i = 0; i < studies_.size(); ++i) {
      if (studies_[i].isDeleted)
        continue;
      left.push_back(static_cast<int64_t>(i)), names.push_back("'" + studies_[i].name + "'");
      if (studies_[i].name == name)
        return left.back();
    }
    if (left.size() == 1)
      return left.front();
    return Error{Code::WrongJobSchedule,
                 left.empty() ? fmt::format("{}: it has no study", file_)
                              : fmt::format("{}: none of its studies {} is called '{}', as the tuning is", file_,
                                            fmt::join(names, ", "), name)};
  }

  Result<TuningReport> tuningOf(const SearchSpace &space, const std::string &name) const {
    ACCORD_TRY(study, chosen(name));
    const JournalStudy &meant = studies_[static_cast<size_t>(study)];
    if (meant.directions.size() != 1)
      return Error{Code::WrongJobSchedule, fmt::format("{}: study '{}' has {} objectives, and a tuning has one", file_,
                                                       meant.name, meant.directions.size())};
    TuningReport out;
    out.problem.name = meant.name, out.problem.maximizes = meant.directions.front() == Maximize;
    for (const JournalTrial &trial : trials_) {
      if (trial.study != study)
        continue;
      Trial made;
      for (const HyperParameter &parameter : space) {
        const auto value = trial.values.find(parameter.name);
        if (value == trial.values.end())
          break;
        made.configuration.push_back(value->second);
        if (out.problem.space.size() < made.configuration.size())
          out.problem.space.push_back(trial.distributions.at(parameter.name));
      }
      if (made.configuration.size() != space.size())
        continue;
      for (const auto &[step, value] : trial.reports)
        if (std::isfinite(value))
          made.reports.push_back({step, value, 0});
      if (trial.last && std::isfinite(*trial.last))
        made.reports.push_back({made.reports.empty() ? 1 : made.reports.back().unit + 1, *trial.last, 0});
      out.result.trials.push_back(std::move(made));
    }
    if (out.problem.space.size() < space.size())
      out.problem.space.clear(); // no trial has all of them
    return out;
  }

  StringRef text_;
  const std::string &file_;
  size_t line_ = 0;
  std::vector<JournalStudy> studies_;
  std::vector<JournalTrial> trials_;
};

} // namespace

std::string optunaJournal(const TuningReport &report) {
  const TuningProblem &problem = report.problem;
  std::vector<std::pair<double, double>> times(report.result.trials.size(),
                                               {std::numeric_limits<double>::infinity(), 0});
  for (const Segment &segment : report.result.segments) {
    auto &[start, end] = times[segment.trial];
    start = std::min(start, segment.start), end = std::max(end, segment.end);
  }
  std::string out;
  auto add = [&](Operation operation, Object object) {
    object["op_code"] = static_cast<int64_t>(operation);
    object["worker_id"] = "accord";
    out += jsonLine(std::move(object)) + "\n";
  };
  add(CreateStudy,
      Object{{"study_name", problem.name}, {"directions", Array{int64_t(problem.maximizes ? Maximize : Minimize)}}});
  for (size_t i = 0; i < report.result.trials.size(); ++i) {
    const Trial &trial = report.result.trials[i];
    const auto id = static_cast<int64_t>(i);
    add(CreateTrial,
        Object{{"study_id", 0}, {"datetime_start", momentText(std::min(times[i].first, times[i].second))}});
    for (size_t p = 0; p < problem.space.size(); ++p)
      add(SetParameter, Object{{"trial_id", id},
                               {"param_name", problem.space[p].name},
                               {"param_value_internal", trial.configuration[p]},
                               {"distribution", distributionText(problem.space[p])}});
    std::optional<double> best;
    for (const Report &one : trial.reports)
      if (std::isfinite(one.value)) {
        if (!best || isBetter(problem, one.value, *best))
          best = one.value;
        add(SetIntermediate, Object{{"trial_id", id}, {"step", one.unit}, {"intermediate_value", one.value}});
      }
    const int64_t state = best ? stateOf(trial) : static_cast<int64_t>(Failed);
    add(SetState, Object{{"trial_id", id},
                         {"state", state},
                         {"values", state == Failed ? Value(nullptr) : Value(Array{*best})},
                         {"datetime_complete", momentText(times[i].second)}});
  }
  return out;
}

bool isOptunaJournal(StringRef text) {
  return text.starts_with("{\"op_code\"") || text.take_until([](char c) { return c == '\n'; }).contains("\"op_code\":");
}

Result<TuningReport> tuningFromOptuna(StringRef text, const std::string &file, const SearchSpace &space,
                                      const std::string &name) {
  return Reader(text, file).read(space, name);
}

} // namespace accord::tuning
