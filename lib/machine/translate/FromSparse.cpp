// What a machine says of zeros, and of layers side by side -> plain data.
#include "lib/machine/translate/AccelReader.h"

using namespace mlir;

namespace accord {

SparseCore sparseCoreOf(AccelReader &keys, DictionaryAttr sparsity) {
  SparseCore core;
  auto count = [&](StringRef key, int64_t &into) {
    if (auto value = keys.closed<IntegerAttr>("sparse", sparsity.get(key)))
      into = value.getInt();
  };
  auto number = [&](StringRef key, double &into, int64_t factor = 1) {
    if (auto value = keys.closed<accel::QuantityAttr>("sparse", sparsity.get(key)))
      into = (value.quantity().value * Rational(factor)).toDouble();
  };
  auto word = [&](StringRef key) {
    auto value = keys.closed<StringAttr>("sparse", sparsity.get(key));
    return value ? value.getValue() : StringRef();
  };
  if (sparsity.contains("pattern")) {
    SparseAcceleration &use = word("on") == "activations" ? core.streaming : core.stationary;
    use.mode = SparseAcceleration::Mode::Skip;
    use.compress = true;
    count("n", use.kept);
    count("m", use.of);
  }
  for (auto [key, use] : {std::pair("stationary", &core.stationary), {"streaming", &core.streaming}}) {
    StringRef mode = word(key);
    if (!mode.empty())
      use->mode = mode == "skip"   ? SparseAcceleration::Mode::Skip
                  : mode == "gate" ? SparseAcceleration::Mode::Gate
                                   : SparseAcceleration::Mode::None;
    count("granule", use->granule);
  }
  if (auto operands = keys.closed<ArrayAttr>("sparse", sparsity.get("compress")))
    for (Attribute operand : operands)
      if (auto name = dyn_cast<StringAttr>(operand))
        (name.getValue() == "stationary" ? core.stationary : core.streaming).compress = true;
  count("tile", core.tile);
  count("slots", core.slots);
  count("lanes", core.lanes);
  number("metadata", core.metadataBits, 8);
  number("setup_cycles", core.setupCycles);
  number("gated_energy", core.gatedEnergy);
  number("words_per_cycle", core.wordsPerCycle);
  return core;
}

DataflowFabric fabricOf(AccelReader &keys, DictionaryAttr fabric) {
  DataflowFabric made;
  if (auto value = keys.closed<IntegerAttr>("dataflow", fabric.get("multipliers")))
    made.multipliers = value.getInt();
  if (auto bits = keys.closed<ArrayAttr>("dataflow", fabric.get("multiplier_bits")); bits && bits.size() == 2) {
    auto rows = keys.closed<IntegerAttr>("dataflow", bits[0]), columns = keys.closed<IntegerAttr>("dataflow", bits[1]);
    if (rows && columns)
      made.multiplierRows = rows.getInt(), made.multiplierColumns = columns.getInt();
  }
  return made;
}

} // namespace accord
