#include "dialects/Register.h"
#include "dialects/dnn/Dnn.h"

void accord::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<dnn::DnnDialect>();
}
