#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "dialects/jobs/JobsDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/DialectRegistry.h"

void accord::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<accel::AccelDialect, dnn::DnnDialect, jobs::JobsDialect, plan::PlanDialect>();
}
