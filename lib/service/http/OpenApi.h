// The description of the interface for programs: OpenAPI 3.1, from the table of routes and the schemas of what is sent.
#pragma once
#include "llvm/Support/JSON.h"

namespace accord::service {

llvm::json::Value openApiDocument();

} // namespace accord::service
