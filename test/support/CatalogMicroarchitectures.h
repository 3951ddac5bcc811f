// The machines of lib/catalog that are described at the level of instructions, read through the language.
#pragma once
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "mlir/IR/MLIRContext.h"
#include "test/support/SourcePath.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {

/// One of the catalogue: its file and what an accelerator names.
struct CatalogMachine {
  const char *file, *name;
  const char *chip;       ///< the accelerator around it
  bool isForAll = true;   ///< whether it executes what is no product, too
  const char *small = ""; ///< arguments of a smaller one, for tests
};
inline constexpr CatalogMachine kCatalogMachines[] = {
    {"oma", "oma", "oma_chip", true, "registers = 32, memory = 1 GiB"},
    {"riscv", "rocket", "rocket_chip", true, "memory = 1 GiB"},
    {"riscv", "riscv_vector", "riscv_vector_cache_chip", true, "memory = 1 GiB"},
    {"riscv", "riscv_vector_dtim", "riscv_vector_chip", true, "memory = 1 GiB"},
    {"systolic", "systolic_folds", "systolic_folds_chip", false, "rows = 4, columns = 4, stream = 4"},
    {"systolic", "systolic", "systolic_chip", false, "rows = 4, columns = 8, stream = 6"},
    {"gemmini", "gemmini", "gemmini_chip", false, "element = 4 B"},
    {"ultratrail", "ultratrail", "ultratrail_chip", false, "element = 4 B, features = 96 KiB, local = 64 KiB"},
    {"plasticine", "plasticine", "plasticine_chip", true, "units = 8, in_flight = 48"},
    {"eyeriss", "eyeriss", "eyeriss_chip", false, "q = 1, element = 4 B"},
};

/// Elaborates `accelerator` of a file, or of a text under its name that may import the catalogue. A test fails where
/// anything is said against it.
inline Machine machineOf(const std::string &file, const std::string &accelerator, const std::string &text = "") {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  if (!text.empty())
    sources.add(file, text);
  ElaborateOptions options;
  options.ideal = true;
  options.catalog = accord::sourcePath("lib/catalog");
  Program program(diags, context, file, options);
  accel::AcceleratorOp found = program.machine(accelerator, {});
  auto machine = found ? machineFrom(found) : mlir::FailureOr<Machine>();
  EXPECT_TRUE(diags.text().empty()) << diags.text();
  if (mlir::failed(machine)) {
    ADD_FAILURE() << accelerator << " does not elaborate";
    return {};
  }
  return *machine;
}

/// A microarchitecture of a text around it, with arguments.
inline Microarchitecture microarchitectureOf(const std::string &declarations, const std::string &name,
                                             const std::string &arguments) {
  const Machine machine = machineOf("probe.accel", "probe",
                                    declarations +
                                        "\naccelerator probe { clock = 1 GHz\n"
                                        "  memory outside : dram { capacity = 1 GiB, bandwidth = 1 GB/s }\n"
                                        "  core core : vector { types = {fp32}, microarchitecture = " +
                                        name + "(" + arguments + ") }\n}\n");
  return machine.cores.empty() || !machine.cores[0].microarchitecture ? Microarchitecture()
                                                                      : *machine.cores[0].microarchitecture;
}
inline Microarchitecture microarchitectureOf(const CatalogMachine &machine, const std::string &arguments) {
  return microarchitectureOf(std::string("import \"catalog/") + machine.file + ".accel\"", machine.name, arguments);
}
/// The accelerator around it.
inline Machine chipOf(const CatalogMachine &machine) {
  return machineOf(accord::sourcePath("lib/catalog/") + machine.file + ".accel", machine.chip);
}
inline const CatalogMachine &catalogMachine(const std::string &name) {
  for (const CatalogMachine &machine : kCatalogMachines)
    if (machine.name == name)
      return machine;
  ADD_FAILURE() << name;
  return kCatalogMachines[0];
}

inline Index opcodeNamed(const Microarchitecture &machine, const std::string &name) {
  for (size_t o = 0; o < machine.opcodes.size(); ++o)
    if (machine.opcodes[o].name == name)
      return Index(o);
  ADD_FAILURE() << "no opcode " << name;
  return kNone;
}
inline Index fileNamed(const Microarchitecture &machine, const std::string &name) {
  for (size_t f = 0; f < machine.registers.size(); ++f)
    if (machine.registers[f].name == name)
      return Index(f);
  ADD_FAILURE() << "no register file " << name;
  return kNone;
}
inline Index unitNamed(const Microarchitecture &machine, const std::string &name) {
  for (size_t u = 0; u < machine.units.size(); ++u)
    if (machine.units[u].name == name)
      return Index(u);
  ADD_FAILURE() << "no unit " << name;
  return kNone;
}

} // namespace accord::microarchitecture
