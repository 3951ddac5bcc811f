// `microarchitecture NAME { … }`, as a declaration or as the block of a core -> the accel dialect.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/language/syntax/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace accord {

/// Where a microarchitecture was written, and under which name it is known.
struct MicroarchitectureText {
  std::string name;
  SourceRange at;
  const std::vector<ast::Entry> *entries = nullptr;
  std::string path = {};                        ///< its values by path: of a core that of the core ("c.units")
  std::map<std::string, Constant> choices = {}; ///< parameters whose values are left open
};

/// Null after errors, all of which are reported in one run: those of each key at its place, and what is wrong with the
/// machine as a whole (lib/microarchitecture/problem/Microarchitecture.h). One that leaves numbers open is looked at
/// with the first value of each choice. Structure (extents of arrays, conditions) cannot follow from a choice, nor can
/// a part of a template have one of its own: A0307.
accel::MicroarchitectureOp elaborateMicroarchitecture(const MicroarchitectureText &text, mlir::ModuleOp module,
                                                      Diagnostics &diags, const Lookup &constants);
/// Of a declaration, whose parameters have their defaults.
accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration, mlir::ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals);

/// `microarchitecture = NAME(side = 8)` of a core.
struct MicroarchitectureUse {
  std::string symbol; ///< under which the core knows it
  std::string path;   ///< of the core
  SourceRange at;
  const std::vector<ast::Argument> *arguments = nullptr; ///< null: none are written
  Lookup constants;                                      ///< where the arguments are written
};
/// Of a declaration with the arguments of a use; `globals` are those of the declaration's file.
accel::MicroarchitectureOp elaborateMicroarchitecture(const ast::Declaration &declaration,
                                                      const MicroarchitectureUse &use, mlir::ModuleOp module,
                                                      Diagnostics &diags, const Lookup &globals);

} // namespace accord
