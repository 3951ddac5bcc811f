#include "lib/language/requests/Requirements.h"
#include <fmt/format.h>

namespace accord {
namespace {

const Dimension kTime = Dimension::of(Base::Second), kBytes = Dimension::of(Base::Byte),
                kEnergy = Dimension::of(Base::Joule);

Quantity of(double value, Dimension dimension) { return Quantity(Rational::ofDouble(value), dimension); }

std::optional<ast::BinaryOp> operatorOf(llvm::StringRef name) {
  for (auto op : {ast::BinaryOp::Or, ast::BinaryOp::And, ast::BinaryOp::Equal, ast::BinaryOp::NotEqual,
                  ast::BinaryOp::Less, ast::BinaryOp::LessEqual, ast::BinaryOp::Greater, ast::BinaryOp::GreaterEqual,
                  ast::BinaryOp::Add, ast::BinaryOp::Subtract, ast::BinaryOp::Multiply, ast::BinaryOp::Divide,
                  ast::BinaryOp::Modulo, ast::BinaryOp::Power})
    if (ast::spelling(op) == name)
      return op;
  return std::nullopt;
}

/// The comparison at the top: operator and both sides.
const CallValue *comparison(const Constant &value, ast::BinaryOp &op) {
  auto *call = value.as<CallValue>();
  auto found = call && call->arguments.size() == 2 ? operatorOf(call->name) : std::nullopt;
  if (!found || !isComparison(*found))
    return nullptr;
  op = *found;
  return call;
}

} // namespace

std::map<std::string, Quantity> constraintNames(const Plan &plan, const CandidateMetrics &achieved) {
  std::map<std::string, Quantity> names = {
      {"step_time", of(achieved.stepTime.value, kTime)},
      {"throughput", of(achieved.throughput, Dimension{} / kTime)},
      {"device.memory", of(achieved.deviceMemory.value, kBytes)},
      {"energy", of(achieved.energy.value, kEnergy)},
      {"power", of(achieved.power.value, kEnergy / kTime)},
      {"batch", Quantity::number(plan.batch)},
      {"microbatch", Quantity::number(plan.graph.microbatch)},
      {"parameters", Quantity::number(plan.graph.parameters)},
      {"power.tdp", of(plan.machine.tdp.value, kEnergy / kTime)},
  };
  if (plan.graph.isInference())
    names["latency"] = names["step_time"];
  for (const Memory &memory : plan.machine.memories) {
    names[memory.name + ".capacity"] = of(memory.capacity.value, kBytes);
    names[memory.name + ".bandwidth"] = of(memory.bandwidth.value, kBytes / kTime);
  }
  return names;
}

Result<Quantity> measure(const Constant &value, const std::map<std::string, Quantity> &names) {
  if (auto *q = value.as<Quantity>())
    return *q;
  if (auto *word = value.as<Word>()) {
    auto found = names.find(word->text);
    if (found != names.end())
      return found->second;
    std::vector<std::string> known;
    for (auto &[name, quantity] : names)
      known.push_back(name);
    return Error{Code::UnknownName, fmt::format("a plan has no '{}'", word->text), {}, {}, nearest(word->text, known)};
  }
  auto *call = value.as<CallValue>();
  if (!call)
    return Error{Code::WrongType, fmt::format("{} is no number", value.describe())};
  std::vector<Quantity> arguments;
  for (auto &[name, argument] : call->arguments) {
    auto one = measure(*argument, names);
    if (!one)
      return one;
    arguments.push_back(*one);
  }
  if (arguments.size() == 1 && call->name == "-")
    return Quantity(Rational(0) - arguments[0].value, arguments[0].dimension);
  if (auto op = operatorOf(call->name); op && arguments.size() == 2 && !isComparison(*op))
    return applyArithmetic(*op, arguments[0], arguments[1]);
  if ((call->name == "min" || call->name == "max") && !arguments.empty())
    return applyFold(call->name, arguments);
  return Error{Code::UnknownFunction, fmt::format("'{}' cannot be used in a constraint", call->name)};
}

namespace {
/// Nothing if it holds, else both sides; a problem if it cannot be evaluated.
Result<std::optional<std::string>> violation(const Constant &condition, const std::map<std::string, Quantity> &names) {
  ast::BinaryOp op;
  const CallValue *call = comparison(condition, op);
  auto left = measure(*call->arguments[0].second, names), right = measure(*call->arguments[1].second, names);
  if (!left)
    return left.error();
  if (!right)
    return right.error();
  auto order = compare(*left, *right);
  if (!order)
    return order.error();
  if (*applyComparison(op, *order))
    return std::optional<std::string>();
  auto shown = [](const Quantity &q) {
    // Six digits are enough to read; exact values would fill a line.
    Quantity rounded(Rational::parse(fmt::format("{:.6g}", q.toDouble())).value_or(q.value), q.dimension);
    return rounded.print();
  };
  return std::optional(fmt::format("{} is not {} {}", shown(*left), call->name, shown(*right)));
}
} // namespace

Requirement requirement(Constant condition, std::string text, SourceLocation location) {
  Requirement r;
  r.text = std::move(text);
  r.location = std::move(location);
  r.check = [condition = std::move(condition)](const Plan &plan,
                                               const CandidateMetrics &achieved) -> std::optional<std::string> {
    auto result = violation(condition, constraintNames(plan, achieved));
    return result ? *result : std::optional(result.error().message);
  };
  return r;
}

bool checkRequirement(const Constant &condition, const Machine &machine, bool inference, Diagnostics &diags) {
  ast::BinaryOp op;
  if (!comparison(condition, op)) {
    diags
        .error(Code::NotAConstraint, condition.range,
               fmt::format("a constraint compares two values, but this is {}", condition.describe()))
        .help("for example: require step_time <= 60 s");
    return false;
  }
  Plan sample;
  sample.machine = machine;
  sample.graph.optimizer = inference ? "none" : "";
  CandidateMetrics some;
  auto result = violation(condition, constraintNames(sample, some));
  if (result)
    return true;
  // Point at the word that is unknown, if one is.
  SourceRange at = condition.range;
  std::function<void(const Constant &)> look = [&](const Constant &value) {
    if (auto *word = value.as<Word>(); word && result.error().message.find("'" + word->text + "'") != std::string::npos)
      at = value.range;
    if (auto *call = value.as<CallValue>())
      for (auto &[name, argument] : call->arguments)
        look(*argument);
  };
  look(condition);
  diags.error(result.error().code, at, result.error().message).suggest(result.error().suggestion);
  return false;
}

std::optional<PlacementLimit> placementLimit(const Constant &condition, const Machine &machine, int64_t batch,
                                             Diagnostics &diags) {
  using Of = PlacementLimit::Of;
  const std::map<std::string, std::pair<Of, Dimension>> known = {{"device.memory", {Of::Memory, kBytes}},
                                                                 {"step_time", {Of::Step, kTime}},
                                                                 {"throughput", {Of::Step, Dimension{} / kTime}},
                                                                 {"power", {Of::Power, kEnergy / kTime}},
                                                                 {"devices", {Of::Devices, Dimension{}}},
                                                                 {"energy", {Of::Energy, kEnergy}},
                                                                 {"price", {Of::Price, Dimension::of(Base::Dollar)}}};
  const char *help = "on a cluster, 'require' limits device.memory, step_time, power, devices, "
                     "energy or price from above, or throughput from below: step_time <= 60 s";
  ast::BinaryOp op;
  const CallValue *call = comparison(condition, op);
  auto reject = [&](SourceRange at, const std::string &message) {
    diags.error(Code::LimitNotUnderstood, at, message).help(help);
    return std::nullopt;
  };
  if (!call)
    return reject(condition.range,
                  fmt::format("a constraint compares two values, but this is {}", condition.describe()));
  const Constant *left = call->arguments[0].second.get(), *right = call->arguments[1].second.get();
  auto measured = [&](const Constant &value) {
    auto *word = value.as<Word>();
    return word && known.count(word->text) ? word : nullptr;
  };
  bool max = op == ast::BinaryOp::LessEqual || op == ast::BinaryOp::Less,
       min = op == ast::BinaryOp::GreaterEqual || op == ast::BinaryOp::Greater;
  if (!measured(*left) && measured(*right)) {
    std::swap(left, right);
    std::swap(max, min);
  }
  auto *word = measured(*left);
  if (!word) {
    auto *unknown = left->as<Word>();
    std::vector<std::string> names;
    for (auto &[one, of] : known)
      names.push_back(one);
    diags
        .error(Code::LimitNotUnderstood, left->range,
               fmt::format("{} is no limit that a placement can keep", left->describe()))
        .suggest(nearest(unknown ? unknown->text : "", names))
        .help(help);
    return std::nullopt;
  }
  auto [of, dimension] = known.at(word->text);
  bool rate = word->text == "throughput";
  if (rate ? !min : !max)
    return reject(condition.range, fmt::format("'{}' is limited from {}", word->text, rate ? "below" : "above"));
  std::map<std::string, Quantity> names = {{"batch", Quantity::number(batch)},
                                           {"power.tdp", accord::of(machine.tdp.value, kEnergy / kTime)}};
  for (const Memory &memory : machine.memories)
    names[memory.name + ".capacity"] = accord::of(memory.capacity.value, kBytes);
  auto value = measure(*right, names);
  if (!value) {
    diags.error(value.error().code, right->range, value.error().message).suggest(value.error().suggestion);
    return std::nullopt;
  }
  if (value->dimension != dimension) {
    diags.error(
        Code::WrongDimension, right->range,
        fmt::format("'{}' is a {}, but this is a {}", word->text, describe(dimension), describe(value->dimension)));
    return std::nullopt;
  }
  double number = value->toDouble();
  if (!(number > 0))
    return reject(right->range,
                  fmt::format("'{}' cannot be {} {}", word->text, rate ? "above" : "at most", value->print()));
  return PlacementLimit{of, rate ? batch / number : number, {}, condition.range};
}

} // namespace accord
