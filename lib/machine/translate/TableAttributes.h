// How the front end hands over what tables of other programs say of components, as attributes of an accelerator.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/machine/energy/ComponentModel.h"

namespace accord {

/// By name of a memory or core a dictionary of `TableNumbers`; and for printing, an array of `file`, `of` (the memory
/// of a file of CACTI) and `names` (a component for each memory or core).
constexpr llvm::StringLiteral kTableNumbersAttribute = "table_numbers", kTablesAttribute = "tables";

/// What the attribute of an accelerator has; nothing where there is none.
std::map<std::string, TableNumbers> tableNumbersOf(accel::AcceleratorOp accelerator);

} // namespace accord
