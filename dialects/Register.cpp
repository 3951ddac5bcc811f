#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "dialects/plan/PlanDialect.h"

void accord::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<accel::AccelDialect, dnn::DnnDialect, plan::PlanDialect>();
}
