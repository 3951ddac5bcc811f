// What `table from "…"` of an accelerator does with a table of components that another program wrote.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

namespace accord {

/// A `table` of an accelerator.
struct TableEntry {
  const ast::Node *node;
  SourceRange from; ///< the name of the file, with quotes
  std::string file; ///< as written
};

/// Writes what tables say of memories and cores as attributes of the accelerator (`kTableNumbersAttribute`, and for
/// printing `kTablesAttribute`). A component of Accelergy belongs to the memory or core that names it in the block of
/// the entry, else to the one that is called as the last parts of its name; a file of CACTI to the memory that the
/// entry names. False after errors: those of `ForeignTable` and of reading; A1407 for a name that is not there, is
/// there twice or has numbers already, and for a table of which nothing is used; A1408 for what does not fit; A0483 for
/// a table without the model that it goes with. A1409 warns of components that nothing uses.
bool applyTables(accel::AcceleratorOp accelerator, llvm::ArrayRef<TableEntry> tables, Diagnostics &diags);

} // namespace accord
