#include "lib/driver/tuning/NetworkPrices.h"
#include "dialects/dnn/Dnn.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/driver/Session.h"
#include "lib/language/requests/TrainSettings.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/Number.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace tuning;

/// Graphs that are kept; a tuning seldom comes back to a network later.
constexpr size_t kMaxGraphs = 256;

Options optionsOf(const Options &given, const std::string &block) {
  Options own = given;
  own.elaborate.train = block, own.elaborate.clusters = true;
  own.errors = std::make_shared<Errors>();
  return own;
}

} // namespace

/// A `train` or `infer` block, and the networks of it that were built.
class NetworkPricer::Block {
public:
  Block(const Options &given, std::string name, const TuningProblem &problem)
      : options_(optionsOf(given, name)), name_(std::move(name)), problem_(problem), session_(options_) {}

  const std::string &name() const { return name_; }
  Session &session() { return session_; }
  size_t numGraphs() const { return built_; }

  /// Reads the block and finds which hyper-parameters it has.
  std::optional<Errors> prepare() {
    if (!session_.prepare()) {
      session_.finish(kWrongInput, "tune");
      if (options_.errors->empty())
        options_.errors->push_back({Code::BadCommandLine, fmt::format("'{}' cannot be priced", name_)});
      return *options_.errors;
    }
    Errors wrong;
    const std::vector<ast::Parameter> &parameters = session_.job().model->parameters;
    for (size_t i = 0; i < problem_.space.size(); ++i) {
      const std::string &name = problem_.space[i].name;
      const bool isOfModel = llvm::any_of(parameters, [&](const auto &one) { return one.name.text == name; });
      Use use = isOfModel ? Use::Model : Use::None;
      if (!isOfModel && !session_.job().inference)
        use = name == "batch"       ? Use::Batch
              : name == "optimizer" ? Use::Optimizer
              : name == "precision" ? Use::Precision
                                    : Use::None;
      uses_.push_back(use);
      if (auto error = errorOf(problem_.space[i], use))
        wrong.push_back(std::move(*error));
    }
    if (!wrong.empty())
      return wrong;
    return std::nullopt;
  }
  bool uses(size_t parameter) const { return uses_[parameter] != Use::None; }
  /// What the name of a hyper-parameter may be meant to be; empty: nothing is near.
  std::string nearestTo(const std::string &name) {
    std::vector<std::string> names = {"batch", "optimizer", "precision"};
    for (const ast::Parameter &one : session_.job().model->parameters)
      names.push_back(one.name.text);
    return nearest(name, names);
  }

  /// What tells the block's prices apart.
  std::string keyOf(const Configuration &configuration) const {
    std::string key;
    for (size_t i = 0; i < uses_.size(); ++i)
      if (uses(i))
        key += valueText(problem_.space[i], configuration[i]) + "|";
    return key;
  }

  /// The job with the configuration's batch, optimizer and precision.
  TrainingJob jobOf(const Configuration &configuration) {
    TrainingJob job = session_.job();
    Diagnostics &diags = session_.diagnostics();
    mlir::MLIRContext &context = session_.workspace().context();
    for (size_t i = 0; i < uses_.size(); ++i) {
      const std::string text = valueText(problem_.space[i], configuration[i]);
      if (uses_[i] == Use::Batch)
        job.batch = static_cast<int64_t>(*parseReal(text));
      else if (uses_[i] == Use::Optimizer)
        job.optimizer = optimizerOf(Constant{{}, Word{text}}, context, diags);
      else if (uses_[i] == Use::Precision)
        job.precision = precisionOf(Constant{{}, Word{text}}, context, diags);
    }
    return job;
  }

  struct Step {
    double seconds = 0, memory = 0, energy = 0;
    int64_t microbatch = 1, parameters = 0;
    std::vector<BrokenLimit> broken;
  };

  /// The step of the job on so many devices, with the largest micro-batch that keeps all limits, else with the smallest
  /// one.
  Result<Step, Errors> step(const Configuration &configuration, const TrainingJob &job, int64_t devices,
                            bool keepsGraphs) {
    Step out;
    if (job.batch % devices != 0) {
      out.broken.push_back({"batch", name_, fmt::format("{} devices do not divide a batch of {}", devices, job.batch)});
      return out;
    }
    const int64_t batch = job.batch / devices;
    std::vector<int64_t> sizes;
    if (job.microbatchStated)
      llvm::copy_if(job.microbatches, std::back_inserter(sizes),
                    [&](int64_t size) { return size > 0 && batch % size == 0; });
    else
      for (int64_t size = batch; sizes.empty() || size * 2 == sizes.back(); size /= 2)
        sizes.push_back(size);
    std::ranges::sort(sizes, std::greater());
    if (sizes.empty()) {
      out.broken.push_back({"microbatch", name_, fmt::format("no micro-batch of the block divides {} samples", batch)});
      return out;
    }
    Degrees degrees = job.degrees;
    degrees.data = devices;
    for (const std::string &policy : job.recomputes) {
      ACCORD_TRY(graph, graphOf(configuration, job, policy, degrees, keepsGraphs));
      for (int64_t size : sizes) {
        std::string error;
        auto work = workGraphFrom(graph, size, batch / size, error);
        if (!work)
          return Errors{{Code::NumberTooLarge, error, sourceOf(graph->getLoc()), {}}};
        work->model = job.name, work->recompute = policy;
        const int64_t parameters = work->parameters;
        SingleDeviceRequest request = session_.request(degrees);
        request.batch = batch;
        ACCORD_TRY(plan, planFor(std::move(*work), session_.machine(), request));
        const CandidateMetrics metrics = measureCandidate(plan);
        out = {metrics.stepTime.value, metrics.deviceMemory.value, metrics.energy.value, size, parameters, {}};
        for (const Conflict &conflict : plan.conflicts)
          out.broken.push_back({conflict.constraint, name_, conflict.detail});
        if (out.broken.empty())
          return out;
      }
    }
    return out;
  }

private:
  enum class Use : uint8_t { None, Model, Batch, Optimizer, Precision };

  /// A network, and the text of its call, in which errors have their places.
  struct Network {
    std::unique_ptr<ast::File> call;
    std::unique_ptr<TrainingGraphs> graphs;
    TrainingJob job;
  };

  SourceRange placeOf(const std::string &parameter) {
    for (const ast::Declaration &block : session_.program().main()->declarations)
      if (block.kind == ast::DeclarationKind::Tuning && block.name.text == problem_.name)
        for (const ast::Entry &entry : block.entries)
          if (auto *node = entry.as<ast::Node>(); node && node->kind.text == "search")
            for (const ast::Entry &one : node->entries)
              if (auto *pair = one.as<ast::KeyValue>(); pair && pair->key.text == parameter)
                return pair->key.range;
    return {};
  }

  /// What is wrong with values of the hyper-parameter for its use.
  std::optional<Error> errorOf(const HyperParameter &parameter, Use use) {
    Diagnostics &diags = session_.diagnostics();
    auto at = [&] { return diags.sources().location(placeOf(parameter.name)); };
    if (use != Use::None &&
        std::ranges::find(problem_.scales, parameter.name, &ScaleRule::target) != problem_.scales.end())
      return Error{Code::NotSupported,
                   fmt::format("'{}' changes the network, so that it is not scaled", parameter.name), at()};
    if (use == Use::Batch) {
      bool isRight = parameter.kind == HyperParameter::Kind::Integer && parameter.min >= 1;
      if (parameter.kind == HyperParameter::Kind::Choice)
        isRight = llvm::all_of(parameter.choices, [](const std::string &choice) {
          auto value = parseReal(choice);
          return value && *value >= 1 && *value == std::round(*value) && *value <= 1e15;
        });
      if (!isRight)
        return Error{Code::WrongType, fmt::format("'batch' of '{}' is a whole number from 1 on", name_), at()};
    }
    if (use != Use::Optimizer && use != Use::Precision)
      return std::nullopt;
    if (parameter.kind != HyperParameter::Kind::Choice)
      return Error{Code::WrongType, fmt::format("'{}' of '{}' is a word", parameter.name, name_), at()};
    for (const std::string &choice : parameter.choices) {
      const Constant word{placeOf(parameter.name), Word{choice}};
      mlir::MLIRContext &context = session_.workspace().context();
      const bool isRight =
          use == Use::Optimizer ? bool(optimizerOf(word, context, diags)) : bool(precisionOf(word, context, diags));
      if (!isRight)
        return takeErrors().front();
    }
    return std::nullopt;
  }

  /// All errors that the session has reported.
  Errors takeErrors() {
    Errors out;
    Diagnostics &diags = session_.diagnostics();
    for (const Diagnostic &one : diags.sorted())
      if (one.severity == Severity::Error) {
        Error error{one.code, one.help.empty() ? one.message : one.message + "; " + one.help,
                    diags.sources().location(one.range)};
        out.push_back(std::move(error));
      }
    diags.dropErrors(0);
    if (out.empty())
      out.push_back({Code::InternalError, fmt::format("the network of '{}' cannot be built", name_)});
    return out;
  }

  /// `small(width = 24, depth = 3)`: what the block says, with the values of the configuration.
  std::string callOf(const Configuration &configuration) {
    const TrainingJob &job = session_.job();
    std::map<std::string, std::string> values;
    std::vector<std::string> order;
    auto set = [&](const std::string &name, std::string value) {
      if (values.insert_or_assign(name, std::move(value)).second)
        order.push_back(name);
    };
    for (size_t i = 0; job.arguments && i < job.arguments->size(); ++i) {
      const ast::Argument &argument = (*job.arguments)[i];
      const std::string name = argument.name ? argument.name->text : job.model->parameters[i].name.text;
      set(name, session_.diagnostics().sources().text(argument.value->range).str());
    }
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i] != Use::Model)
        continue;
      const std::string text = valueText(problem_.space[i], configuration[i]);
      const bool isWord = problem_.space[i].kind == HyperParameter::Kind::Choice && !parseReal(text) &&
                          text != "true" && text != "false";
      set(problem_.space[i].name, isWord ? "\"" + text + "\"" : text);
    }
    std::string out = job.model->name.text + "(";
    for (const std::string &name : order)
      out += fmt::format("{}{} = {}", name == order.front() ? "" : ", ", name, values[name]);
    return out + ")";
  }

  Result<dnn::TrainingGraphOp, Errors> graphOf(const Configuration &configuration, const TrainingJob &job,
                                               const std::string &policy, const Degrees &degrees, bool keeps) {
    const std::string call = callOf(configuration);
    const std::string key =
        fmt::format("{}|{}|{}", call, job.optimizer.getAsOpaquePointer(), job.precision.getAsOpaquePointer());
    if (!keeps || networks_.size() >= kMaxGraphs)
      if (!networks_.contains(key))
        networks_.clear();
    auto [slot, isNew] = networks_.try_emplace(key);
    Network &network = slot->second;
    Diagnostics &diags = session_.diagnostics();
    if (isNew) {
      ++built_;
      const FileId id = diags.sources().add(fmt::format("<{} {}>.dnn", name_, built_), "let value =\n" + call);
      network.call = parse(diags, id);
      if (!network.call->complete || diags.hasErrors())
        return takeErrors();
      network.job = job;
      network.job.arguments = &network.call->declarations[0].value->as<ast::Call>()->arguments;
      network.graphs = std::make_unique<TrainingGraphs>(
          [this, &network](std::optional<int64_t>) { return session_.program().model(network.job); });
    }
    if (!network.graphs) // its call was refused before
      return Errors{{Code::InternalError, fmt::format("'{}' cannot be read", call)}};
    TrainingGraphs::Built &built = network.graphs->get(session_.graphs().optionsAt(policy, degrees));
    if (built.graph)
      return dnn::TrainingGraphOp(built.graph);
    Errors errors = built.errors.empty() ? takeErrors() : built.errors;
    for (Error &error : errors)
      error.message = fmt::format("{}: {}", call, error.message);
    built.errors = errors; // for the next who asks
    return errors;
  }

  const Options options_;
  const std::string name_;
  const TuningProblem &problem_;
  Session session_;
  std::vector<Use> uses_; ///< by hyper-parameter
  std::map<std::string, Network> networks_;
  size_t built_ = 0;
};

NetworkPricer::NetworkPricer(const Options &options, const TuningProblem &problem, PricedTuning &priced,
                             bool keepsGraphs)
    : options_(options), problem_(problem), priced_(priced), keepsGraphs_(keepsGraphs) {}
NetworkPricer::~NetworkPricer() = default;

size_t NetworkPricer::numGraphs() const { return training_->numGraphs() + (inference_ ? inference_->numGraphs() : 0); }

std::optional<Errors> NetworkPricer::prepare() {
  training_ = std::make_unique<Block>(options_, priced_.training, problem_);
  if (auto wrong = training_->prepare())
    return wrong;
  Session &session = training_->session();
  const TrainingJob &job = session.job();
  const auto at = [&] { return session.diagnostics().sources().location(job.declaration->name.range); };
  double samples = job.samples;
  if (job.tokens > 0 && session.sequence().value_or(0) > 0)
    samples = std::ceil(job.tokens / static_cast<double>(*session.sequence()));
  if (samples <= 0)
    return Errors{
        {Code::MissingKey,
         fmt::format("'{}' does not say how much it trains on, so that a unit has no time; a complete trial is "
                     "the whole training: samples = 50000 and epochs = 27, for example",
                     job.name),
         at()}};
  unitSamples_ = samples / static_cast<double>(problem_.maxUnits);
  priced_.machine = session.machine().name;
  priced_.capacity = session.machine().memories.front().capacity.value;
  const Degrees &degrees = job.degrees;
  const int64_t maxDevices = priced_.devices.back();
  if (maxDevices > 1 && !session.cluster())
    return Errors{{Code::NotSupported,
                   fmt::format("'{}' is trained on one device, and nothing says how the {} devices of a trial are "
                               "connected; train it on a cluster",
                               job.name, maxDevices),
                   at()}};
  if (degrees.tensor * degrees.context * degrees.data != 1)
    return Errors{{Code::NotSupported,
                   fmt::format("the devices of a trial divide its batch alone: '{}' states other degrees", job.name),
                   at()}};
  if (session.cluster() && maxDevices > session.cluster()->fabric.devices())
    return Errors{{Code::TooFewDevices,
                   fmt::format("a trial may run on {} devices, '{}' has {}", maxDevices, session.cluster()->name,
                               session.cluster()->fabric.devices()),
                   at()}};
  if (!priced_.inference.empty()) {
    inference_ = std::make_unique<Block>(options_, priced_.inference, problem_);
    if (auto wrong = inference_->prepare())
      return wrong;
    priced_.inferenceMachine = inference_->session().machine().name;
  }
  priced_.bound.clear();
  for (size_t i = 0; i < problem_.space.size(); ++i)
    if (const std::string &name = problem_.space[i].name; training_->uses(i) || (inference_ && inference_->uses(i)))
      priced_.bound.push_back(name);
    else if (const std::string near = training_->nearestTo(name); !near.empty())
      assumptions_.push_back(fmt::format("'{}' changes no price, for the network has no such parameter; did you mean "
                                         "'{}'?",
                                         name, near));
  assumptions_.push_back(
      fmt::format("a unit is 1/{} of the training '{}', {:.6g} samples; its time is that of the cost "
                  "model, with the largest micro-batch that fits, and without loading data",
                  problem_.maxUnits, job.name, unitSamples_));
  return std::nullopt;
}

Result<Price, Errors> NetworkPricer::price(const Configuration &configuration) {
  const std::string key =
      training_->keyOf(configuration) + "/" + (inference_ ? inference_->keyOf(configuration) : std::string());
  if (auto known = prices_.find(key); known != prices_.end())
    return Price(known->second);
  ACCORD_TRY(price, made(configuration));
  prices_[key] = price;
  return std::move(price);
}

Result<Price, Errors> NetworkPricer::made(const Configuration &configuration) {
  Price out;
  if (inference_) {
    auto [known, isNew] = inferences_.try_emplace(inference_->keyOf(configuration));
    if (isNew) {
      auto step = inference_->step(configuration, inference_->jobOf(configuration), 1, keepsGraphs_);
      if (!step) {
        inferences_.erase(known);
        return step.takeError();
      }
      known->second = {step->seconds, step->memory, step->energy, std::move(step->broken)};
    }
    out.inference = known->second;
    if (!out.inference->broken.empty())
      return std::move(out); // it is rejected, whatever its training takes
  }
  const TrainingJob job = training_->jobOf(configuration);
  const double steps = std::ceil(unitSamples_ / static_cast<double>(job.batch));
  for (int64_t devices : priced_.devices) {
    ACCORD_TRY(step, training_->step(configuration, job, devices, keepsGraphs_));
    if (devices == 1)
      out.parameters = step.parameters;
    out.training.push_back({devices, steps * step.seconds, step.seconds, step.memory, step.microbatch,
                            step.broken.empty(), std::move(step.broken)});
  }
  return std::move(out);
}

} // namespace accord
