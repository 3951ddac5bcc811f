// Keys of one block of a machine, as numbers in base units. Internal to this room.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/KeyLocations.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"

namespace accord {

using Origins = std::map<std::string, Origin>;

/// Reads the keys of one block; the first problem is reported and remembered.
class AccelReader {
public:
  AccelReader(mlir::Operation *block, mlir::DictionaryAttr entries, std::string name, Origins &origins)
      : block(block), entries(entries), name(std::move(name)), origins(origins) {}

  bool failed = false;

  /// The value of `key` if it is stated, as `Kind` and nothing left open.
  template <typename Kind> Kind get(llvm::StringRef key) { return closed<Kind>(key, entries.get(key)); }

  template <typename Kind> Kind closed(llvm::StringRef key, mlir::Attribute value) {
    if (!value)
      return {};
    if (auto found = mlir::dyn_cast<Kind>(value))
      return found;
    bool open = mlir::isa<accel::ChoiceAttr>(value);
    complain(key, open ? Code::NotADesign : Code::NotSupported)
        << (open ? " is left open: choose a value, or mine the design space first"
                 : " has no value yet: it depends on other keys");
    return {};
  }

  mlir::InFlightDiagnostic complain(llvm::StringRef key, Code code) {
    failed = true;
    return emitError(accel::locationOf(block, key), code) << "'" << key << "' of '" << name << "'";
  }

  void remember(llvm::StringRef key, const std::string &text, llvm::StringRef source = "") {
    origins[key.str()] = {text, source.str(), sourceOf(accel::locationOf(block, key.split('.').first))};
  }

  /// In base units, per second where it was stated per cycle (and in seconds where in cycles);
  /// `divisor` of it.
  double number(llvm::StringRef key, accel::QuantityAttr value, Rational clock, int64_t divisor = 1) {
    if (!value)
      return 0;
    Quantity quantity = value.quantity();
    int cycles = quantity.dimension.exponents[static_cast<unsigned>(Base::Cycle)];
    bool rate = key == "clock";
    if (cycles != 0 && !rate) {
      if (clock.isZero()) {
        complain(key, Code::NoClock) << " is counted in cycles, but the accelerator states no 'clock'";
        return 0;
      }
      quantity.value = cycles < 0 ? quantity.value * clock : quantity.value / clock;
    }
    remember(key, value.spelled(), value.getSource());
    return (quantity.value / Rational(divisor)).toDouble();
  }
  double number(llvm::StringRef key, Rational clock = 0) { return number(key, get<accel::QuantityAttr>(key), clock); }

private:
  mlir::Operation *block;
  mlir::DictionaryAttr entries;
  std::string name;
  Origins &origins;
};

/// `sparse nm(n, m) { … }`: the operand is stored compressed, and only what is kept is computed;
/// `sparse { … }`: as it says.
SparseCore sparseCoreOf(AccelReader &keys, mlir::DictionaryAttr sparsity);
/// `dataflow { … }`.
DataflowFabric fabricOf(AccelReader &keys, mlir::DictionaryAttr fabric);

} // namespace accord
