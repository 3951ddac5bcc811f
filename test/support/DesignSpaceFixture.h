// Design spaces from texts.
#pragma once
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "test/support/SourcePath.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace accord::test {

/// A file of machines that has been read.
struct Machines {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<Program> program;

  explicit Machines(const std::string &text) {
    sources.add("space.accel", text);
    read("space.accel");
  }
  explicit Machines(std::filesystem::path path) { read(path.string()); }

  accel::AcceleratorOp operator[](const std::string &name) {
    auto found = program->machine(name, {});
    if (!found)
      ADD_FAILURE() << diags.text();
    return found;
  }
  Result<DesignSpace, Errors> space(const std::string &name) {
    auto found = program->machine(name, {});
    if (found)
      return DesignSpace::of(found);
    Errors said;
    for (const accord::Diagnostic &one : diags.sorted())
      said.push_back({one.code, one.message + " " + one.help, {}, {}});
    return said;
  }

private:
  void read(const std::string &path) {
    registerAllDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    ElaborateOptions options;
    options.ideal = options.clusters = options.placement = true; // what a formula of the data sheet gives
    options.catalog = accord::sourcePath("lib/catalog");
    program = std::make_unique<Program>(diags, *context, path, options);
  }
};

inline DesignSpace shippedSpace(const std::string &name) {
  Machines machines(std::filesystem::path(accord::sourcePath("lib/catalog/spaces.accel")));
  auto made = machines.space(name);
  if (!made) {
    for (const Error &error : made.error())
      ADD_FAILURE() << error.code << " " << error.message << " at " << error.location.line;
    std::abort();
  }
  return std::move(*made);
}

/// "A0104 message" of the first issue; "" where there is a space.
inline std::string firstError(const std::string &text, const std::string &name = "s") {
  Machines machines(text);
  auto made = machines.space(name);
  auto *errors = made.getError();
  if (!errors)
    return "";
  return errors->empty() ? "no issue" : numberOf(errors->front().code) + " " + errors->front().message;
}

inline Design someDesign(const DesignSpace &space, std::mt19937 &random) {
  Design design;
  for (const DesignParameter &parameter : space.parameters())
    design.push_back(static_cast<uint32_t>(random() % parameter.labels.size()));
  return design;
}

/// Boxes around a design, from the whole space by random halves to the design alone.
inline std::vector<DesignBox> boxesAround(const DesignSpace &space, const Design &design, std::mt19937 &random) {
  DesignBox box;
  for (const DesignParameter &parameter : space.parameters()) {
    box.low.push_back(0);
    box.high.push_back(static_cast<uint32_t>(parameter.labels.size()) - 1);
  }
  std::vector<DesignBox> boxes = {box};
  while (!box.one()) {
    size_t p = random() % design.size();
    uint32_t half = (box.low[p] + box.high[p]) / 2;
    if (box.low[p] == box.high[p])
      continue;
    (design[p] <= half ? box.high[p] : box.low[p]) = design[p] <= half ? half : half + 1;
    boxes.push_back(box);
  }
  return boxes;
}

} // namespace accord::test
