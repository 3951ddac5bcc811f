#include "lib/language/machines/Calibration.h"
#include "lib/language/machines/OperationsFile.h"
#include "lib/language/syntax/Parser.h"
#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/machine/operations/File.h"
#include "lib/machine/translate/FromAccel.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

using calibrate::Parameter;

/// Adds a key to a block unless the block states it, with the digits that a fit has.
template <class Op> void state(Op op, llvm::StringRef key, double value, Dimension dimension, llvm::StringRef source) {
  DictionaryAttr entries = op.getEntriesAttr();
  if (entries && entries.get(key))
    return;
  Quantity quantity(Rational::parse(fmt::format("{:.6g}", value)).value_or(Rational::ofDouble(value)), dimension);
  NamedAttrList all(entries);
  all.set(key, accel::QuantityAttr::get(op.getContext(), quantity, quantity.print(), source));
  op.setEntriesAttr(all.getDictionary(op.getContext()));
}

} // namespace

bool applyCalibration(accel::AcceleratorOp machine, llvm::StringRef file, SourceRange at, Diagnostics &diags) {
  llvm::SmallString<256> path(file);
  if (at.valid() && !llvm::sys::path::is_absolute(path)) {
    path = llvm::sys::path::parent_path(diags.sources().path(at.file));
    llvm::sys::path::append(path, file);
  }
  auto read = readFile(diags, path, at);
  if (!read)
    return false;
  if (operations::isFile(diags.sources().text(*read)))
    return applyOperations(machine, *read, file, at, diags);
  auto parsed = calibrate::readCalibration(diags.sources().text(*read), path.str().str());
  if (!parsed) {
    for (const Error &error : parsed.error())
      diags
          .error(Code::BadCalibration, diags.sources().at(*read, {error.location.line, error.location.column}),
                 error.message)
          .note(at, "it is read here");
    return false;
  }
  auto &calibration = *parsed;
  if (calibration.machine != machine.getSymName()) {
    diags
        .error(Code::BadCalibration, at,
               fmt::format("'{}' is of '{}', and this machine is '{}'", file.str(), calibration.machine,
                           machine.getSymName().str()))
        .help("fit it with accord calibrate --target and this machine");
    return false;
  }
  auto value = [&](Parameter p) { return calibration.value[static_cast<size_t>(p)]; };
  const Dimension time = Dimension::of(Base::Second);
  for (auto core : machine.getBody().getOps<accel::CoreOp>()) {
    bool tensor = core.getKind() == "tensor";
    state(core, "efficiency", value(tensor ? Parameter::ProductEfficiency : Parameter::Fp32Efficiency), {}, file);
    if (tensor)
      state(core, "half_performance_work", 2 * std::pow(value(Parameter::ProductWave), 1.5), Dimension::of(Base::Flop),
            file);
  }
  for (auto memory : machine.getBody().getOps<accel::MemoryOp>())
    if (memory.getKind() == "dram")
      state(memory, "efficiency", std::min(1.0, value(Parameter::MemoryEfficiency)), {}, file);
  state(machine, "kernel_launch_overhead", value(Parameter::KernelLaunchOverhead), time, file);
  state(machine, "host_overhead_per_microbatch", value(Parameter::HostOverheadPerMicrobatch), time, file);
  state(machine, "host_overhead_per_step", value(Parameter::HostOverheadPerStep), time, file);
  // The whole set, for costs that know all of its terms.
  Builder builder(machine.getContext());
  NamedAttrList all;
  for (size_t i = 0; i < calibrate::kParameters; ++i)
    all.set(calibrate::info(i).name, builder.getF64FloatAttr(calibration.value[i]));
  machine->setAttr(kFittedAttribute, all.getDictionary(machine.getContext()));
  machine->setAttr(kFittedFromAttribute, builder.getStringAttr(file));
  return true;
}

} // namespace accord
