// What an operation must answer so that its cost, gradients, sharding and mapping follow generically.
#ifndef ACCORD_WORK_OP_INTERFACE
#define ACCORD_WORK_OP_INTERFACE
include "mlir/IR/OpBase.td"

def WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::accord";
  let description = [{
    An operation that does work over an iteration domain. `getWork` states the domain, one affine indexing
    map per operand and per result, and which iterators reduce; everything else has a default derived from it.
    The extent of the batch is `ShapedType::kDynamic` until a micro-batch is chosen, so totals take it as an argument.
  }];
  let methods = [
    InterfaceMethod<"Iteration domain, indexing maps (operands, then results) and iterator kinds.",
      "::accord::Work", "getWork">,
    InterfaceMethod<"Floating-point operations per point of the domain; a multiply-accumulate is 2.",
      "int64_t", "getFlopsPerPoint">,
    InterfaceMethod<"True for multiply-accumulates over two tensors: they count towards model FLOPs.",
      "bool", "isContraction", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The kind of core the operation wants; none for a view.",
      "::accord::WorkCore", "getCoreKind", (ins), "",
      [{ return $_op.isContraction() ? ::accord::WorkCore::Tensor : ::accord::WorkCore::Vector; }]>,
    InterfaceMethod<"FLOPs of one execution on `batch` samples; nullopt when they pass 2^63.",
      "std::optional<int64_t>", "getFlops", (ins "int64_t":$batch), "",
      [{ return ::accord::flopsOfDomain($_op, batch); }]>,
    InterfaceMethod<"Compulsory bytes read on `batch` samples: each operand once, unless the operation touches less.",
      "std::optional<int64_t>", "getBytesRead", (ins "int64_t":$batch), "",
      [{ return ::accord::bytesOf($_op->getOperandTypes(), batch); }]>,
    InterfaceMethod<"Compulsory bytes written on `batch` samples: each result once.",
      "std::optional<int64_t>", "getBytesWritten", (ins "int64_t":$batch), "",
      [{ return ::accord::bytesOf($_op->getResultTypes(), batch); }]>,
    InterfaceMethod<"Seconds of one execution on `batch` samples where they were measured elsewhere: then nothing else of it costs.",
      "std::optional<double>", "getGivenSeconds", (ins "int64_t":$batch), "",
      [{ return std::nullopt; }]>
  ];
}
#endif
