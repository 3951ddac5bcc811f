// Work that was measured somewhere and is known by its time alone.
#ifndef ACCORD_DNN_PROFILED
#define ACCORD_DNN_PROFILED
include "dialects/dnn/definitions/DnnWork.td"

def Dnn_Seconds : Dnn_NumberWhere<"v >= 0", "at least 0 s">;

defvar Dnn_IsGiven = "std::optional<int64_t> getBytesRead(int64_t) { return 0; }\n"
                     "std::optional<int64_t> getBytesWritten(int64_t) { return 0; }\n"
                     "std::optional<double> getGivenSeconds(int64_t batch);\n";
def Dnn_ProfiledOp : Dnn_ForwardOp<"profiled", 0> {
  let required = ["forward"];
  let summary = "something measured: it takes `forward` seconds a sample on every machine, and computes nothing known";
  let description = [{
    y is `elements` fp32 numbers, or without `elements` a scalar that may be the loss. With `trained` the last operand is its parameters.
    No FLOP and no bytes: the stated time is all of its cost, and its gradient takes `backward` seconds a sample.
    `%y = dnn.profiled %x, %w {forward = 1.2e-3 : f64, backward = 2.3e-3 : f64, elements = 64 : i64, trained = true} :
       (tensor<?x8xf32>, tensor<16xf32>) -> tensor<?x64xf32>`
  }];
  let arguments = (ins Variadic<Dnn_Tensor>:$xs, OptionalAttr<Dnn_Seconds>:$forward, DefaultValuedAttr<Dnn_Seconds, "0">:$backward,
                       OptionalAttr<Dnn_Int>:$elements, DefaultValuedAttr<BoolAttr, "false">:$trained);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::sampleWork(getOperation());";
  let more = Dnn_IsGiven;
}
def Dnn_ProfiledGradOp : Dnn_WorkOp<"profiled_grad", 0> {
  let summary = "gradients of `dnn.profiled` for those of its operands that need one: it takes `backward` seconds a sample";
  let description = "No FLOP and no bytes. `kept` are the operands of the forward operation, which are kept for it.";
  let arguments = (ins Dnn_Tensor:$dy, Variadic<Dnn_Tensor>:$saved, Dnn_Seconds:$backward);
  let results = (outs Variadic<Dnn_Tensor>:$dxs);
  let work = "return ::accord::dnn::sampleWork(getOperation());";
  let more = Dnn_IsGiven;
}
#endif
