#include "lib/language/machines/Calibration.h"
#include "lib/language/machines/OperationsFile.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/machine/operations/File.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/support/CommandHost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

using calibrate::Parameter;

/// A file that a machine or the command names, and the name by which people know it.
struct OpenFile {
  FileId id;
  std::string shown;
};

/// Where a file is. One of the catalogue is shown by the name that imports give it.
std::string pathOf(llvm::StringRef shown, llvm::StringRef catalog) {
  llvm::StringRef rest = shown;
  if (isReadable(shown) || !rest.consume_front("catalog/"))
    return shown.str();
  llvm::SmallString<256> path(catalog);
  llvm::sys::path::append(path, rest);
  return path.str().str();
}

/// `framework`: its own file is taken where there is one.
std::optional<OpenFile> open(llvm::StringRef file, llvm::StringRef framework, SourceRange at, llvm::StringRef catalog,
                             Diagnostics &diags) {
  llvm::SmallString<256> shown(file);
  if (at.valid() && !llvm::sys::path::is_absolute(shown)) {
    shown = llvm::sys::path::parent_path(diags.sources().path(at.file));
    llvm::sys::path::append(shown, file);
    if (file.starts_with("catalog/") && !isReadable(shown)) // as imports name what is shipped
      shown = file;
  }
  if (llvm::StringRef stem = shown; !framework.empty() && stem.consume_back(".calibration")) {
    std::string own = fmt::format("{}.{}.calibration", stem.str(), framework.str());
    if (isReadable(pathOf(own, catalog)))
      shown = own;
  }
  auto read = readFile(diags, pathOf(shown, catalog), at, shown.str());
  return read ? std::optional(OpenFile{*read, shown.str().str()}) : std::nullopt;
}

/// A calibration, or nothing after errors.
std::optional<calibrate::CalibrationFile> calibrationIn(const OpenFile &file, SourceRange at, Diagnostics &diags) {
  auto parsed = calibrate::readCalibration(diags.sources().text(file.id), file.shown);
  if (!parsed) {
    for (const Error &error : parsed.error())
      diags
          .error(Code::BadCalibration, diags.sources().at(file.id, {error.location.line, error.location.column}),
                 error.message)
          .note(at, "it is read here");
    return std::nullopt;
  }
  return std::move(*parsed);
}

/// The calibration that a machine names; nothing after errors.
std::optional<calibrate::CalibrationFile> calibrationOf(accel::AcceleratorOp machine, const OpenFile &file,
                                                        SourceRange at, Diagnostics &diags) {
  auto parsed = calibrationIn(file, at, diags);
  if (parsed && parsed->machine != machine.getSymName()) {
    diags
        .error(Code::BadCalibration, at,
               fmt::format("'{}' is of '{}', and this machine is '{}'", file.shown, parsed->machine,
                           machine.getSymName().str()))
        .help("fit it with accord calibrate --target and this machine");
    return std::nullopt;
  }
  return parsed;
}

/// What the machine states itself stands instead of a fitted number.
void keepStated(const Machine &machine, calibrate::Parameters &parameters) {
  for (const Core &core : machine.cores)
    if (core.origins.count("efficiency"))
      parameters[core.kind == CoreKind::Tensor ? Parameter::ProductEfficiency : Parameter::Fp32Efficiency] =
          core.efficiency;
  if (const Memory &memory = machine.memories.front(); memory.origins.count("efficiency"))
    parameters[Parameter::MemoryEfficiency] = memory.efficiency;
  auto overhead = [&](Parameter parameter, Seconds stated) {
    if (stated.value > 0)
      parameters[parameter] = stated.value;
  };
  overhead(Parameter::KernelLaunchOverhead, machine.host.kernel);
  overhead(Parameter::HostOverheadPerMicrobatch, machine.host.microbatch);
  overhead(Parameter::HostOverheadPerStep, machine.host.step);
}

/// Whether peaks and a bandwidth are all that is said of how fast the machine is.
bool isDataSheet(const Machine &machine) {
  bool plainCores = !machine.cores.empty() && llvm::all_of(machine.cores, [](const Core &core) {
    return !core.microarchitecture && core.rows <= 0 && core.lanes <= 0 && core.cyclesOf.empty() && !core.anyMapping &&
           !core.perInstanceMapping && !core.peak.empty() && !core.origins.count("efficiency") &&
           core.halfPerformanceWork.value <= 0;
  });
  bool plainMemories = machine.memories.size() == 1 && machine.memories.front().bandwidth.value > 0 &&
                       !machine.memories.front().origins.count("efficiency");
  bool noHost = machine.host.kernel.value <= 0 && machine.host.microbatch.value <= 0 && machine.host.step.value <= 0;
  return plainCores && plainMemories && noHost && machine.costModel.empty() && !machine.fabric;
}

/// An engine replays all kernels of a graph without the host, which a calibration to trainings does not know.
void leaveOutLaunches(const EfficiencyOptions &options, calibrate::Parameters &parameters) {
  if (options.engine)
    for (Parameter host : {Parameter::Launch, Parameter::LaunchCollective, Parameter::HostOverheadPerMicrobatch,
                           Parameter::HostOverheadPerStep})
      parameters[host] = 0;
}

void writeFitted(accel::AcceleratorOp machine, Machine::Fitted fitted, const calibrate::StepTimeIntervals &stepTime) {
  fitted.values.push_back({calibrate::kStepTimeLow, stepTime.attending.low});
  fitted.values.push_back({calibrate::kStepTimeHigh, stepTime.attending.high});
  fitted.values.push_back({calibrate::kOtherStepTimeLow, stepTime.other.low});
  fitted.values.push_back({calibrate::kOtherStepTimeHigh, stepTime.other.high});
  Builder builder(machine.getContext());
  NamedAttrList all;
  for (const auto &[name, value] : fitted.values)
    all.set(name, builder.getF64FloatAttr(value));
  machine->setAttr(kFittedAttribute, all.getDictionary(machine.getContext()));
  machine->setAttr(kFittedFromAttribute, builder.getStringAttr(fitted.source));
}

} // namespace

bool settleEfficiency(accel::AcceleratorOp machine, const EfficiencyOptions &options, SourceRange at,
                      Diagnostics &diags) {
  if (machine->hasAttr(kFittedAttribute) || machine->hasAttr(kIdealAttribute))
    return true;
  auto from = machine->getAttrOfType<StringAttr>(kCalibrationAttribute);
  std::optional<calibrate::CalibrationFile> file;
  if (!options.calibration.empty() && !options.ideal) {
    auto opened = open(options.calibration, "", {}, options.catalog, diags);
    auto given = opened ? calibrationIn(*opened, {}, diags) : std::nullopt;
    if (!given)
      return false;
    if (given->machine == machine.getSymName()) {
      file = std::move(given);
      from = StringAttr::get(machine.getContext(), options.calibration);
    } else {
      diags.warning(Code::BadCalibration, {},
                    fmt::format("--calibration: '{}' is of '{}'; '{}' keeps its own", options.calibration,
                                given->machine, machine.getSymName().str()));
    }
  }
  std::string framework = options.framework;
  if (auto own = machine.getEntriesAttr().getAs<FlatSymbolRefAttr>("framework"); own && framework.empty())
    framework = own.getValue().str();
  if (!options.cluster.empty() && !file && !options.ideal) {
    auto opened = open(options.cluster, framework, options.clusterAt, options.catalog, diags);
    auto given = opened ? options.clusterOfOne ? calibrationOf(machine, *opened, options.clusterAt, diags)
                                               : calibrationIn(*opened, options.clusterAt, diags)
                        : std::nullopt;
    if (!given)
      return false;
    if (given->machine == machine.getSymName()) { // else another machine of the cluster is measured
      file = std::move(given);
      from = StringAttr::get(machine.getContext(), llvm::sys::path::filename(opened->shown));
    }
  }
  if (from && !file) {
    auto opened = open(from, framework, at, options.catalog, diags);
    if (!opened)
      return false;
    from = StringAttr::get(machine.getContext(), llvm::sys::path::filename(opened->shown));
    if (operations::isFile(diags.sources().text(opened->id)))
      return options.ideal || applyOperations(machine, opened->id, from, at, diags);
    if (!(file = calibrationOf(machine, *opened, at, diags)))
      return false;
  }
  if (options.ideal)
    return true;
  ScopedDiagnosticHandler silent(machine.getContext(), [](mlir::Diagnostic &) { return success(); });
  auto described = machineFrom(machine); // what is wrong with it is told where it is used
  if (failed(described) || described->memories.empty())
    return true;
  if (file) {
    keepStated(*described, file->value);
    leaveOutLaunches(options, file->value);
    Machine::Fitted fitted = calibrate::toCalibratedValues(from.str(), file->value);
    writeFitted(machine, fitted, file->stepTime);
  } else if (isDataSheet(*described)) {
    calibrate::Parameters prior = calibrate::priorOf(*described);
    leaveOutLaunches(options, prior);
    Machine::Fitted fitted = calibrate::toCalibratedValues(kClassPrior.str(), prior);
    writeFitted(machine, fitted, calibrate::kPriorStepTime);
  }
  return true;
}

} // namespace accord
