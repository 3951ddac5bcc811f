#include "lib/machine/cost/CheckMemories.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/support/EmitError.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace accord {
namespace {

int widthOf(llvm::StringRef type) {
  return llvm::StringSwitch<int>(type)
      .Cases({"fp64"}, 8)
      .Cases({"fp32", "tf32"}, 4)
      .Cases({"bf16", "fp16"}, 2)
      .Default(1);
}

/// As the file has it.
std::string textOf(const Memory &memory, const char *key) {
  auto stated = memory.origins.find(key);
  return stated == memory.origins.end() ? "" : stated->second.text;
}

} // namespace

bool checkPorts(accel::MemoryOp op, const Memory &memory, Hertz clock) {
  if (memory.portBytesPerCycle <= 0 || clock.value <= 0)
    return true;
  double banks = std::max<int64_t>(memory.banks, 1), ports = std::max<int64_t>(memory.ports, 1),
         max = banks * ports * memory.portBytesPerCycle * clock.value;
  if (memory.bandwidth.value <= max * (1 + 1e-9))
    return true;
  auto error = emitError(accel::locationOf(op, "bandwidth"), Code::PortsTooSlow)
               << "'bandwidth' of '" << memory.name << "' is " << textOf(memory, "bandwidth")
               << fmt::format(", but its ports move {:.6g} B/cycle at most", max / clock.value);
  bool counted = op.getEntries().contains("ports");
  error.attachNote(accel::locationOf(op, counted ? "ports" : "port_width"))
      << fmt::format("{} bank{} with {} port{} of {:.6g} B/cycle each", banks, banks == 1 ? "" : "s", ports,
                     ports == 1 ? "" : "s", memory.portBytesPerCycle);
  return false;
}

bool checkTile(accel::CoreOp op, accel::MemoryOp holder, const Core &core, const Memory &memory) {
  if (memory.kind != "scratchpad" || core.rows <= 0 || core.cols <= 0)
    return true;
  auto word = [&](llvm::StringRef key) {
    auto stated = op.getEntries().getAs<StringAttr>(key);
    return stated ? stated.getValue() : llvm::StringRef();
  };
  int operand = core.peak.empty() ? 1 : 8;
  for (const auto &[type, peak] : core.peak)
    operand = std::min(operand, widthOf(type));
  if (!word("multiply").empty())
    operand = widthOf(word("multiply"));
  int result = word("accumulate").empty() ? operand : widthOf(word("accumulate"));
  auto twice = holder.getEntries().getAs<BoolAttr>("double_buffered");
  int copies = twice && !twice.getValue() ? 1 : 2;
  double need = copies * smallestTileBytes(core.rows, core.cols, core.dataflow, operand, result);
  if (memory.capacity.value >= need)
    return true;
  auto error =
      emitError(accel::locationOf(holder, "capacity"), Code::MemoryBelowTile)
      << "'capacity' of '" << memory.name << "' is " << textOf(memory, "capacity")
      << fmt::format(", but core '{}' needs {:.0f} B for {}", core.name, need,
                     copies == 2 ? "two smallest tiles: one is filled while one is used" : "the smallest tile");
  error.attachNote(accel::locationOf(op, "array"))
      << fmt::format("a tile is the {} x {} elements of one fold, and the {} and {} that pass them", core.rows,
                     core.cols, core.rows, core.cols);
  return false;
}

double smallestTileBytes(int64_t rows, int64_t cols, const std::string &dataflow, int operand, int result) {
  double r = rows, c = cols, in = operand, out = result;
  if (dataflow == "output_stationary")
    return r * c * out + (r + c) * in;
  return r * c * in + r * in + c * out; // a row of operands comes in, a row of results goes out
}

bool checkMemories(accel::AcceleratorOp accelerator, const MemoryOrder &order, const Machine &machine) {
  bool good = true;
  for (auto [op, memory] : llvm::zip(order.memories, machine.memories))
    good &= checkPorts(op, memory, machine.clock);
  for (auto [op, core] : llvm::zip(accelerator.getBody().getOps<accel::CoreOp>(), machine.cores))
    if (core.reads >= 0)
      good &= checkTile(op, order.memories[core.reads], core, machine.memories[core.reads]);
  return good;
}

} // namespace accord
