#include "lib/driver/tasks/Prune.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/compilation/PlacementSparsity.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Session.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/tasks/Compile.h"
#include "lib/language/requests/Sparsity.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/operations/File.h"
#include "lib/sparsity/cost/ExpectedTimes.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

class SparsityChooser {
public:
  SparsityChooser(Session &session, const PruneOptions &pruning)
      : session_(session), diags_(session.diagnostics()), pruning_(pruning) {}

  std::optional<SparsityPlan> run() {
    if (!request() || !solve())
      return std::nullopt;
    return std::move(plan_);
  }

  /// Of a training on a cluster: what its placement may choose from; nothing after errors.
  std::optional<PlacementSparsityRequest> zeros() {
    if (!request() || !suitsPlacement() || !isForDataflow())
      return std::nullopt;
    return zerosOn(withoutFits(session_.machine()));
  }

  /// What a search of designs may choose from, of which this machine is one; nothing after errors.
  std::optional<PlacementSparsityRequest> zerosToMine(const Machine &machine) {
    return request() ? zerosOn(machine) : std::nullopt;
  }

  /// What is claimed and assumed of a plan with these zeros.
  void complete(PlacementPlan &plan) {
    if (!plan.zeros) {
      plan.assumptions.push_back("the search was stopped before zeros were chosen: nothing is zero in this plan");
      return;
    }
    plan.zeros->accuracy = accuracyOf(plan_.step->evaluation, lossOf(*plan.zeros));
    if (auto &accuracy = plan.zeros->accuracy)
      addLines(*accuracy, [&](const PruneLayer &layer, const PruneOption &option) {
        for (size_t u = 0; u < plan.zeros->units.size(); ++u)
          for (size_t d = 0; d < plan.zeros->units[u].decisions.size(); ++d)
            if (llvm::is_contained(plan.zeros->units[u].decisions[d].layers, layer.name))
              return plan.zeros->chosen(u, d).label == option.sparsity;
        return false;
      });
    else
      plan.assumptions.push_back("no accuracy is required: nothing is claimed of what zeros do to it");
    assumeKernels();
    llvm::append_range(plan.assumptions, plan_.assumptions);
    plan.assumptions.push_back("zeros shorten a layer by what they shorten its operations; activations are kept whole, "
                               "and pipeline stages have layers of one kind with the same zeros");
    if (!plan_.step->scope.empty())
      plan.assumptions.push_back(fmt::format("masks of weights: {}; {}", plan_.step->recipe, plan_.step->scope));
    for (const Rejection &excluded : plan_.step->excludedOptions)
      plan.assumptions.push_back("left out: " + excluded.error.message);
  }

private:
  std::optional<PlacementSparsityRequest> zerosOn(const Machine &ideal) {
    const int64_t microbatch = std::max<int64_t>(1, session_.smallestMicrobatch());
    auto work = session_.graphs().workAt(microbatch, 1);
    if (!work || !named(*work))
      return std::nullopt;
    auto files = readAccuracyFiles(request_);
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&files))
      return reportRejections(*rejected), std::nullopt;
    auto measured = kernels();
    EstimateOptions how;
    how.costModel = session_.request().costModel;
    auto costs = measured ? estimate(*work, ideal, how) : Result<Costs, Errors>(Errors{});
    if (!costs) {
      session_.workspace().reportAll(costs.error());
      return std::nullopt;
    }
    auto found = sparsityOptions(
        {request_, *work, ideal, *costs, std::get<std::vector<AccuracyFile>>(files), nullptr, *measured});
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&found))
      return reportRejections(*rejected), std::nullopt;
    plan_.step = std::move(std::get<PrunePlan>(found));
    plan_.step->kernels = *measured;
    if (request_.kernels)
      plan_.step->kernelsSource = llvm::sys::path::filename(request_.kernels->file).str();
    if (plan_.step->problem.lossBudget < 0) {
      reportRejections({{{Code::RequirementNotShown,
                          "no sparsity configuration, including the dense one, satisfies the accuracy requirement",
                          request_.accuracy ? request_.accuracy->location : request_.location,
                          {}},
                         ""}});
      return std::nullopt;
    }
    return placementSparsityOf(*plan_.step, {request_.confidence, number(request_.maskPeriod), std::move(*measured)});
  }

  bool request() {
    const TrainingJob &job = session_.job();
    auto request = session_.program().sparsity(job);
    if (!request) {
      if (!diags_.hasErrors())
        diags_
            .error(Code::MissingKey, job.declaration ? job.declaration->name.range : SourceRange{},
                   fmt::format("'{}' has no `sparsity for` block: nothing says which zeros it may have", job.name))
            .help(fmt::format("for example: sparsity for {} {{ weights of * = nm(2, 4) }}", job.name));
      return false;
    }
    request_ = std::move(*request);
    if (pruning_.confidence > 0)
      request_.confidence = pruning_.confidence;
    plan_.training = job.name, plan_.version = kVersion;
    bindFiles();
    plan_.machine = session_.machine().name, plan_.objective = request_.objective;
    plan_.confidence = request_.confidence;
    plan_.assumptions = job.assumptions;
    return true;
  }

  /// What a placement decides is stated by the training.
  bool suitsPlacement() {
    auto refuse = [&](const char *what, const char *help) {
      session_.report({Code::NotSupported, what, request_.location, {}}, help);
      return false;
    };
    if (request_.forwardOnly)
      return refuse("'phases = forward' is of one device: a placement trains",
                    "'infer … on …' places a network that only infers");
    using enum PlacementObjective;
    PlacementObjective &objective = session_.workspace().job().placementObjective;
    if (request_.objective == "energy")
      objective = Energy;
    else if (request_.objective == "memory")
      objective = Memory;
    return true;
  }

  /// Of layers side by side, nothing divides densities or keeps ends of the network dense, and no library has kernels.
  bool suitsFabric() {
    const char *word = request_.isErdosRenyi                                 ? "distribution = erk"
                       : request_.keepsFirstDense || request_.keepsLastDense ? "dense_layers"
                       : request_.kernels                                    ? "kernels"
                                                                             : nullptr;
    if (word)
      session_.report({Code::NotSupported,
                       fmt::format("not supported yet: '{}' on a dataflow device", word),
                       request_.kernels ? request_.kernels->location : request_.location,
                       {}},
                      "for example: weights of conv1 = dense");
    return !word;
  }

  bool named(const WorkGraph &graph) {
    std::map<GemmOperand, std::vector<std::string>> known;
    for (GemmOperand operand : {GemmOperand::Weights, GemmOperand::Activations, GemmOperand::Gradients})
      known[operand] = layerNames(graph);
    return checkRuleNames(request_, known, diags_);
  }

  bool solve() {
    const bool pipeline = session_.machine().fabric.has_value();
    if (pipeline && !suitsFabric())
      return false;
    if (!pipeline && request_.objective == "throughput")
      plan_.objective = request_.objective = "step_time"; // of a given batch they are one
    const int64_t batch = pipeline ? 1 : session_.batchOfDevice();
    const int64_t microbatch = pipeline ? 1 : session_.smallestMicrobatch();
    if (microbatch == 0) {
      diags_.error(Code::BatchNotDivisible, session_.job().microbatchAt,
                   fmt::format("no micro-batch size in the search space divides the {} samples of a device", batch));
      return false;
    }
    auto work = session_.graphs().workAt(microbatch, batch / microbatch);
    if (!work || !named(*work))
      return false;
    plan_.model = work->model, plan_.batch = batch, plan_.microbatch = microbatch;
    auto files = readAccuracyFiles(request_);
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&files))
      return reportRejections(*rejected);
    const auto &read = std::get<std::vector<AccuracyFile>>(files);
    if (!pipeline && !isForDataflow())
      return false;
    if (!(pipeline ? stages(*work, read) : step(std::move(*work), read)))
      return false;
    plan_.proven = plan_.selection().proven(), plan_.gap = plan_.selection().gap();
    accuracyReport();
    return true;
  }

  /// Lines of files of measurements are shown as those of descriptions are.
  void show(const SourceLocation &location) {
    SourceManager &sources = diags_.sources();
    if (location.file.empty() || sources.find(location.file))
      return;
    if (auto text = llvm::MemoryBuffer::getFile(location.file))
      sources.add(location.file, (*text)->getBuffer().str());
  }

  /// Files that the answer rests on are named in its manifest, with their hashes.
  void bindFiles() {
    for (const SparsityRequest::AccuracyMeasurements &measured : request_.measurements)
      show({measured.file});
    if (request_.kernels)
      show({request_.kernels->file});
    for (const std::string *table : {&pruning_.traces, &pruning_.thresholds})
      show({*table});
  }

  bool reportRejections(const std::vector<Rejection> &rejections) {
    for (const Rejection &rejection : rejections) {
      show(rejection.error.location);
      for (const auto &[location, text] : rejection.error.notes)
        show(location);
      session_.report(rejection.error, rejection.help);
    }
    return false;
  }

  /// What operations take where this share of all gradients is exchanged; nothing if that cannot be
  /// priced.
  Costs exchangedAt(double share, const Plan &plan) {
    WorkGraph graph = plan.graph;
    auto part = [share](int64_t whole) { return int64_t(std::ceil(whole * share)); };
    for (Operation &op : graph.operations)
      if (op.communication && llvm::StringRef(op.name).contains(".gradient.")) {
        op.communication->payload = part(op.communication->payload);
        op.bytesRead = part(op.bytesRead), op.bytesWritten = part(op.bytesWritten);
      }
    const SingleDeviceRequest request = session_.request();
    EstimateOptions options;
    options.costModel = request.costModel;
    options.fabric = request.fabric, options.axes = request.axes;
    auto costs = estimate(graph, plan.machine, options);
    auto *priced = costs.get();
    return priced ? std::move(*priced) : Costs{};
  }

  /// Of the file that `kernels` names, the tables of one device; nothing after errors.
  std::optional<std::vector<SparseKernelTable>> kernels() {
    if (!request_.kernels)
      return std::vector<SparseKernelTable>{};
    const SparsityRequest::KernelMeasurements &stated = *request_.kernels;
    auto reject = [&](std::string message, const std::string &help) {
      session_.report({Code::BadCalibration, std::move(message), stated.location, {}}, help);
      return std::nullopt;
    };
    auto text = llvm::MemoryBuffer::getFile(stated.file);
    if (!text)
      return reject(
          fmt::format("cannot read '{}': {}", stated.file, llvm::StringRef(text.getError().message()).lower()),
          "accord calibrate --operations writes it");
    if (!operations::isFile((*text)->getBuffer().str()))
      return reject(fmt::format("'{}' is no file of fitted operations", stated.file),
                    "accord calibrate --operations writes it");
    auto fit = operations::readFile((*text)->getBuffer().str(), stated.file);
    if (!fit) {
      for (const Error &error : fit.error()) {
        show(error.location);
        session_.report(error, "accord calibrate --operations writes such files");
      }
      return std::nullopt;
    }
    std::vector<std::string> devices;
    for (const SparseKernelTable &table : fit->sparse)
      if (!llvm::is_contained(devices, table.device))
        devices.push_back(table.device);
    if (devices.empty())
      return reject(fmt::format("'{}' has no 2:4 products", stated.file),
                    "accord measure --sparse writes the script that measures them");
    const bool isNamed = !stated.device.empty();
    if (isNamed ? !llvm::is_contained(devices, stated.device) : devices.size() > 1)
      return reject(isNamed ? fmt::format("'{}' has no 2:4 products of '{}'; it has '{}'", stated.file, stated.device,
                                          fmt::join(devices, "', '"))
                            : fmt::format("'{}' has 2:4 products of several devices: '{}'", stated.file,
                                          fmt::join(devices, "', '")),
                    fmt::format("kernels \"{}\" from \"{}\"",
                                isNamed ? nearestOr(stated.device, devices) : devices.front(), stated.file));
    std::erase_if(fit->sparse, [&](const SparseKernelTable &table) {
      return table.device != (isNamed ? stated.device : devices.front());
    });
    return std::move(fit->sparse);
  }
  static std::string nearestOr(const std::string &name, const std::vector<std::string> &known) {
    std::string found = nearest(name, known);
    return found.empty() ? known.front() : found;
  }

  /// What `expected` rests on.
  void assumeKernels() {
    std::vector<std::string> measured, published;
    bool searches = false;
    for (const PruneLayer &layer : plan_.step->layers)
      for (const PruneOption &option : layer.options) {
        searches |= option.masks.has_value();
        for (const SparseProductTime &product : option.products) {
          const bool isMeasured = llvm::is_contained(
              llvm::map_range(plan_.step->kernels, [](const SparseKernelTable &table) { return table.type; }),
              product.type);
          std::vector<std::string> &types = isMeasured ? measured : published;
          if (!llvm::is_contained(types, product.type))
            types.push_back(product.type);
        }
      }
    for (const std::string &type : measured)
      plan_.assumptions.push_back(fmt::format(
          "2:4 products in {} are as much faster than dense ones as on '{}', in {} (interval: 90 % of the shapes)",
          type, plan_.step->kernels.front().device, plan_.step->kernelsSource));
    for (const std::string &type : published)
      plan_.assumptions.push_back(fmt::format(
          "no 2:4 product in {} was measured here: 1.56 times as fast as dense (1.18 to 1.79), with fewer than 1024 "
          "rows, "
          "inputs or outputs 1.32 times (0.78 to 1.69), with fewer than 64 as fast (0.11 to 1.69), as published of "
          "A100, "
          "H100 and B200; kernels from \"…\" names "
          "measured ones",
          type));
    if (searches)
      plan_.assumptions.push_back("masks of weights that move are found and stored by operations of their own");
  }

  bool step(WorkGraph work, const std::vector<AccuracyFile> &files) {
    auto costed = session_.planFor(std::move(work));
    auto measured = costed ? kernels() : std::nullopt;
    if (!measured)
      return false;
    std::map<double, Costs> exchanged; // by share of all gradients
    auto exchange = [&](OperationId id, double share) {
      auto [known, isNew] = exchanged.try_emplace(share);
      if (isNew)
        known->second = exchangedAt(share, *costed);
      return id < known->second.operations.size() ? known->second.operations[id].time.value
                                                  : costed->costs.operations[id].time.value;
    };
    auto found = searchSparsity({request_, costed->graph, costed->machine, costed->costs, files,
                                 session_.cluster() ? ExchangeOf(exchange) : nullptr, std::move(*measured)});
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&found))
      return reportRejections(*rejected);
    plan_.step = std::move(std::get<PrunePlan>(found));
    if (request_.kernels)
      plan_.step->kernelsSource = llvm::sys::path::filename(request_.kernels->file).str();
    const std::vector<std::string> &assumed = costed->costs.assumptions;
    plan_.assumptions.insert(plan_.assumptions.end(), assumed.begin(), assumed.end());
    plan_.assumptions.push_back("operations run one after the other; activations are kept whole");
    assumeKernels();
    int64_t sampled = 0;
    for (const PruneLayer &layer : plan_.step->layers)
      sampled += std::count_if(layer.options.begin(), layer.options.end(),
                               [](const PruneOption &option) { return option.sampled; });
    if (sampled > 0)
      plan_.assumptions.push_back(
          fmt::format("patterns and tiles of {} options do not fit each other: their mean times are estimated "
                      "from sampled groups of lanes (standard error 0.15 %), quantiles from limits",
                      sampled));
    return true;
  }

  /// What only layers side by side know.
  bool isForDataflow() {
    for (auto [name, given] :
         {std::pair("--traces", !pruning_.traces.empty()), std::pair("--thresholds", !pruning_.thresholds.empty()),
          std::pair("--weight-bits", pruning_.weightBits > 0),
          std::pair("--activation-bits", pruning_.activationBits > 0)})
      if (given) {
        session_.report({Code::NotSupported,
                         fmt::format("'{}' is for a device with 'dataflow {{ … }}', and '{}' has none", name,
                                     session_.machine().name),
                         request_.location,
                         {}});
        return false;
      }
    return true;
  }

  /// The memories that the device states.
  FabricResources resources() {
    FabricResources out;
    auto fabric = session_.workspace().accelerator().getEntries().getAs<mlir::DictionaryAttr>("dataflow");
    auto number = [&](llvm::StringRef key) {
      auto value = fabric ? fabric.getAs<mlir::IntegerAttr>(key) : mlir::IntegerAttr();
      return value ? value.getInt() : 0;
    };
    out.blockRams = number("block_rams"), out.ultraRams = number("ultra_rams"), out.luts = number("luts");
    if (!session_.machine().memories.empty())
      out.bytesPerSecond = session_.machine().memories.front().bandwidth.value;
    return out;
  }

  /// Reads a table of measured zeros; false after errors.
  template <typename Table, typename Read>
  bool readTable(const std::string &path, std::optional<Table> &into, Read read) {
    if (path.empty())
      return true;
    auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!text) {
      session_.report({Code::WrongQualityFile,
                       fmt::format("cannot read '{}': {}", path, llvm::StringRef(text.getError().message()).lower()),
                       request_.location,
                       {}});
      return false;
    }
    auto table = read(std::string_view((*text)->getBuffer()), path);
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&table))
      return reportRejections(*rejected);
    into = std::get<Table>(std::move(table));
    return true;
  }

  bool stages(const WorkGraph &work, const std::vector<AccuracyFile> &files) {
    FabricInputs inputs;
    inputs.resources = resources();
    inputs.weightBits = pruning_.weightBits, inputs.activationBits = pruning_.activationBits;
    if (!readTable(pruning_.traces, inputs.traces, readZeroTraces) ||
        !readTable(pruning_.thresholds, inputs.thresholds, readThresholds))
      return false;
    auto found = planFabric(request_, work, session_.machine(), files, inputs);
    if (auto *rejected = std::get_if<std::vector<Rejection>>(&found))
      return reportRejections(*rejected);
    plan_.pipeline = std::move(std::get<FabricPlan>(found));
    plan_.objective = "throughput";
    if (!request_.forwardOnly)
      plan_.assumptions.push_back("phases = forward: a dataflow device runs images, not gradients");
    plan_.assumptions.push_back("all layers run at once, each on its multipliers; what lies between "
                                "products (pooling, normalization, activation) keeps up");
    const DataflowProblem &problem = plan_.pipeline->problem;
    plan_.assumptions.push_back(
        problem.resources.isStated()
            ? "memories and look-up tables by a model (docs/sparsity.md); routing, control and "
              "whether the clock is reached are not modelled"
            : "the machine states no 'block_rams': memories on the chip, look-up tables and the "
              "memory beside it are taken as enough");
    if (inputs.weightBits > 0 || inputs.activationBits > 0)
      plan_.assumptions.push_back("numbers have the bits that were asked for; what that costs in accuracy is not known "
                                  "here");
    bool isModelled = false, isMeasured = false;
    for (const DataflowLayer &layer : problem.layers)
      for (const DataflowSparsity &sparsity : layer.sparsity)
        (sparsity.channels.empty() ? isModelled : isMeasured) = true;
    if (isModelled)
      plan_.assumptions.push_back(isMeasured ? "zeros of layers without a trace are as frequent in all channels"
                                             : "zeros are as frequent in all channels of a layer (no traces)");
    if (inputs.thresholds && !request_.accuracy)
      plan_.assumptions.push_back("no accuracy is required, so the fastest network is taken, whatever its accuracy");
    if (inputs.thresholds)
      plan_.assumptions.push_back("where a trace is missing, products are zero independently of each other");
    return true;
  }

  /// What is shown of accuracy, where something is.
  std::optional<AccuracyReport> accuracyOf(const AccuracyEvaluation &evaluation, const Rational &loss) const {
    if (evaluation.level == AccuracyBasis::None || evaluation.level == AccuracyBasis::SensitivityRanking)
      return std::nullopt;
    AccuracyReport report;
    report.metric = evaluation.metric;
    report.guaranteed = evaluation.guaranteed;
    report.min = evaluation.dense - evaluation.margin * loss;
    if (request_.accuracy)
      report.required = request_.accuracy->min;
    if (evaluation.confidence > 0)
      report.confidence = fmt::format("{:.6g}", evaluation.confidence);
    report.level = describe(evaluation.level);
    if (pruning_.thresholds.empty())
      report.inputs.push_back(fmt::format("dense network: at least {}", evaluation.dense.print()));
    else
      report.inputs.push_back(pruning_.thresholds);
    report.assumptions = evaluation.assumptions;
    return report;
  }
  /// The lines of files that show what was chosen.
  void addLines(AccuracyReport &report,
                llvm::function_ref<bool(const PruneLayer &, const PruneOption &)> isChosen) const {
    for (const PruneLayer &layer : plan_.step->layers)
      for (const PruneOption &option : layer.options)
        if (isChosen(layer, option))
          for (const SourceLocation &line : option.lines)
            if (std::string text = fmt::format("{}:{}", line.file, line.line); !llvm::is_contained(report.inputs, text))
              report.inputs.push_back(text);
  }
  void accuracyReport() {
    // Losses were rounded up to units: 10^-12.
    plan_.accuracy =
        accuracyOf(plan_.evaluation(), Rational(plan_.selection().sums.loss) / Rational(1'000'000'000'000));
    if (plan_.accuracy && plan_.step)
      addLines(*plan_.accuracy,
               [](const PruneLayer &layer, const PruneOption &option) { return &option == &layer.chosen(); });
  }

  Session &session_;
  Diagnostics &diags_;
  const PruneOptions &pruning_;
  SparsityRequest request_;
  SparsityPlan plan_;
};

bool write(Diagnostics &diags, const SparsityPlan &plan, const std::string &folder) {
  AnswerFolder answer(diags, folder);
  return answer.write(filesOf(plan)).commit();
}

} // namespace

std::optional<SparsityPlan> chooseSparsity(Session &session, const PruneOptions &pruning) {
  return SparsityChooser(session, pruning).run();
}

std::optional<PlacementSparsityRequest> zerosToMine(Session &session, const Machine &machine) {
  return SparsityChooser(session, {}).zerosToMine(machine);
}

/// On a cluster: zeros and placement together.
static int prunePlacement(Session &session, const Options &options, const PruneOptions &pruning,
                          SolverMonitor &monitor) {
  SparsityChooser chooser(session, pruning);
  auto zeros = chooser.zeros();
  if (!zeros)
    return session.finish(kWrongInput, "prune");
  session.zeros = &*zeros;
  return answerPlacement(session, options, monitor, "prune", [&](PlacementPlan &plan) { chooser.complete(plan); });
}

int prune(Options options, const PruneOptions &pruning, const PlanSearchLimits &limits) {
  options.elaborate.prunes = options.elaborate.clusters = options.elaborate.placement = true;
  auto monitor = SolverMonitor::ofCommand("prune", "planning", limits, options.json);
  if (!monitor)
    return kWrongInput;
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "prune");
  if (session.cluster())
    return prunePlacement(session, options, pruning, *monitor);
  auto plan = chooseSparsity(session, pruning);
  if (!plan || !write(session.diagnostics(), *plan, options.output))
    return session.finish(kWrongInput, "prune");
  if (options.json)
    standardOutput() << jsonText(toJson(*plan)) << "\n";
  else
    standardOutput() << sparsitySummary(*plan, llvm::StringRef(options.output).rtrim('/').str(),
                                        TextStyle::of(standardOutput()));
  return session.finish(kDone, "prune");
}

} // namespace accord
