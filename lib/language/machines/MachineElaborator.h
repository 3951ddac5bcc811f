// Elaborates the entries of one machine declaration; accelerators in ElaborateAccel.cpp, clusters
// in ElaborateCluster.cpp.
#pragma once
#include "dialects/accel/KeyLocations.h"
#include "lib/language/machines/ComponentTables.h"
#include "lib/language/machines/ElaborateAccel.h"
#include "lib/language/machines/SchemaReader.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "mlir/IR/Verifier.h"
#include <fmt/format.h>

namespace accord {

class MachineElaborator {
public:
  MachineElaborator(const ast::Declaration &declaration, mlir::ModuleOp module, Diagnostics &diags,
                    const Lookup &globals)
      : declaration(declaration), context(*module.getContext()), builder(&context), diags(diags) {
    builder.setInsertionPointToEnd(module.getBody());
    lookup = [this, &globals](llvm::StringRef name, SourceRange where) -> std::optional<Constant> {
      auto found = parameters.find(name.str());
      return found != parameters.end() ? std::optional(found->second) : globals(name, where);
    };
    for (const ast::Parameter &p : declaration.parameters)
      if (p.defaultValue)
        parameters[p.name.text] = evaluate(*p.defaultValue, diags, lookup);
      else {
        diags.error(Code::MissingArgument, p.name.range,
                    fmt::format("parameter '{}' of a machine needs a default", p.name.text));
        parameters[p.name.text] = {}; // failed: what uses it is no error of its own
      }
  }

  accel::AcceleratorOp accelerator(const MicroarchitectureLookup &declared);
  accel::ClusterOp cluster(llvm::function_ref<bool(llvm::StringRef)> isAccelerator);

private:
  mlir::Location at(SourceRange range) {
    Position p = diags.sources().position(range);
    return mlir::FileLineColLoc::get(&context, diags.sources().path(range.file), p.line, p.column);
  }
  std::string textOf(SourceRange range) { return diags.sources().text(range).str(); }
  SchemaReader reader(llvm::StringRef kind, llvm::StringRef subtype = "") {
    return {context, diags, lookup, *accel::findSchema(kind, subtype)};
  }

  void node(const ast::Node &node, const ast::Entry &entry, const std::vector<std::string> &known);
  void subtypeBlock(const ast::Node &node, const ast::Entry &entry);
  mlir::FlatSymbolRefAttr microarchitecture(const ast::Node &node, const ast::Name &core);
  mlir::FlatSymbolRefAttr microarchitecture(const ast::KeyValue &use, const ast::Name &core);
  void plainBlock(const ast::Node &node, const ast::Entry &entry);
  void powerLevel(const ast::Node &node);
  void setLevels(mlir::Operation *op);
  void keysOf(const ast::Node &node, SchemaReader &keys);
  void sparse(const ast::Node &node, SchemaReader &into);
  void calibration(const ast::Node &node, const ast::Entry &entry, SchemaReader &into);
  void table(const ast::Node &node, const ast::Entry &entry);
  void idealEfficiency(const ast::KeyValue &pair, const ast::Entry &entry, SchemaReader &into);
  void path(const ast::Path &path, const ast::Entry &entry);
  void rule(const ast::Rule &rule, const ast::Entry &entry);
  void server(const ast::Node &node, const ast::Entry &entry);
  void network(const ast::Node &node);
  void device(const ast::Node &node);
  void price(const ast::KeyValue &pair, const ast::Entry &entry);
  void clusterEntry(const ast::Entry &entry, bool insideServerBlock);
  mlir::Attribute count(const ast::Node &node);
  bool declare(const ast::Name &name);
  void unknownEntry(const ast::Name &kind, const std::vector<std::string> &known, const char *where);
  template <class Op> Op finish(Op op, size_t errorsBefore);

  const ast::Declaration &declaration;
  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  Diagnostics &diags;
  Lookup lookup;
  std::map<std::string, Constant> parameters;
  std::map<std::string, SourceRange> names;
  std::vector<TableEntry> tables;                                   ///< until the machine is complete
  std::vector<std::pair<SourceRange, mlir::DictionaryAttr>> levels; ///< of power, with their places, until `setLevels`
  mlir::Operation *self = nullptr;
  llvm::function_ref<bool(llvm::StringRef)> isAccelerator = nullptr;
  const MicroarchitectureLookup *microarchitectures = nullptr;
};

template <class Op> Op MachineElaborator::finish(Op op, size_t errorsBefore) {
  if (diags.errors() == errorsBefore) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      reportMachineError(d, diags, declaration.name.range);
      return mlir::success();
    });
    if (mlir::succeeded(mlir::verify(op)))
      return op;
    if (diags.errors() == errorsBefore)
      diags.error(Code::InternalError, declaration.name.range, "the machine is not valid");
  }
  op->erase();
  return nullptr;
}

} // namespace accord
