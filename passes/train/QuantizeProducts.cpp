// The pass: products with weights on operands of 8 bits, where the precision asks for it.
#include "dialects/dnn/ForwardOptions.h"
#include "lib/support/EmitError.h"
#include "lib/training/quantize/ProductQuantizer.h"
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "passes/train/Passes.h.inc"

namespace {

/// Of the first training that names the model, else of the model itself; null if neither says one.
dnn::PrecisionAttr precisionOf(dnn::ModelOp model, ModuleOp module) {
  for (auto train : module.getOps<dnn::TrainOp>())
    if (train.getModel() == model.getSymName())
      if (dnn::PrecisionAttr precision = train.getPrecisionAttr())
        return precision;
  return model.getPrecisionAttr();
}

struct QuantizeProducts : impl::QuantizeProductsBase<QuantizeProducts> {
  void runOnOperation() override {
    for (auto model : getOperation().getOps<dnn::ModelOp>()) {
      dnn::PrecisionAttr precision = precisionOf(model, getOperation());
      if (!precision || precision.getProducts() == precision.getElement())
        continue;
      if (quantizeProducts(model, precision.getProducts()) > 0)
        continue;
      emitError(model, Code::NothingToQuantize)
          << "nothing of this model would compute in fp8: no product with a weight is in a repeated block, with "
             "dimensions that are multiples of 16; "
          << (dnn::forwardOptionsOf(model) ? "answer in bf16" : "train it in mixed(bf16)");
      return signalPassFailure();
    }
  }
};

} // namespace
} // namespace accord
