// Operations that move, cut, join, reduce and resample tensors.
#ifndef ACCORD_DNN_MOVEMENT
#define ACCORD_DNN_MOVEMENT
include "dialects/dnn/definitions/DnnWork.td"

def Dnn_ReshapeOp : Dnn_ForwardOp<"reshape", 0> {
  let ranks = [0];
  let required = ["dims"];
  let summary = "the same elements under another shape: a view";
  let description = "`dims` are the extents after the batch.\n"
    "`%y = dnn.reshape %x {dims = array<i64: 1024, 25, 64>} : (tensor<?x1024x1600xbf16>) -> tensor<?x1024x25x64xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<DenseI64ArrayAttr>:$dims);
  let results = (outs Dnn_Tensor:$y);
  let more = Dnn_IsView;
  let hasFolder = 1;
}
def Dnn_TransposeOp : Dnn_ForwardOp<"transpose", 0> {
  let ranks = [0];
  let required = ["permutation"];
  let summary = "y's dimension i is x's dimension permutation[i], counted after the batch";
  let description = "No FLOP; every element is moved.\n`%y = dnn.transpose %x {permutation = array<i64: 1, 0, 2>} : "
                    "(tensor<?x1024x25x64xbf16>) -> tensor<?x25x1024x64xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<DenseI64ArrayAttr>:$permutation);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::transposeWork(getOperation(), *getPermutation());";
  let hasFolder = 1;
}
def Dnn_ConcatOp : Dnn_ForwardOp<"concat", 0> {
  let ranks = [1];
  let required = ["axis"];
  let summary = "operands joined along `axis`";
  let description = "No FLOP; every element is moved. An operand without a batch is joined to every sample.\n"
    "`%y = dnn.concat %a, %b {axis = 0 : i64} : (tensor<?x64x8x8xf32>, tensor<?x32x8x8xf32>) -> tensor<?x96x8x8xf32>`";
  let arguments = (ins Variadic<Dnn_Tensor>:$xs, OptionalAttr<Dnn_Int>:$axis);
  let results = (outs Dnn_Tensor:$y);
  let hasFolder = 1;
}
def Dnn_SplitOp : Dnn_ForwardOp<"split", 0> {
  let ranks = [1];
  let required = ["axis", "parts"];
  let summary = "`parts` equal pieces along `axis`";
  let description = "No FLOP; every element is moved.\n"
    "`%a:2 = dnn.split %x {parts = 2 : i64, axis = -1 : i64} : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$parts, OptionalAttr<Dnn_Int>:$axis);
  let results = (outs Variadic<Dnn_Tensor>:$ys);
  let work = "return ::accord::dnn::pointwiseWork(getOperation(), getX().getType());";
  let hasFolder = 1;
}
def Dnn_SliceOp : Dnn_ForwardOp<"slice", 0> {
  let ranks = [1];
  let required = ["axis", "size"];
  let summary = "`size` elements along `axis` from `start`";
  let description = "No FLOP; the slice is read and written.\n"
    "`%y = dnn.slice %x {axis = 0 : i64, start = 1 : i64, size = 4 : i64} : (tensor<?x8x3xf32>) -> tensor<?x4x3xf32>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$axis, DefaultValuedAttr<Dnn_Int, "0">:$start, OptionalAttr<Dnn_Int>:$size);
  let results = (outs Dnn_Tensor:$y);
  let more = Dnn_ReadsTouched;
  let hasFolder = 1;
}
def Dnn_PadOp : Dnn_ForwardOp<"pad", 0> {
  let ranks = [1];
  let required = ["before"];
  let summary = "x with `before` and `after` elements of `value` more at both ends of each dimension";
  let description = [{
    y[i, ..] = x[i - before, ..] where that is inside of x, else `value`; extents grow by before + after. One number for each dimension
    after the batch; `after` is `before` unless given. Below 0 it takes elements away, as the gradient does, which is `dnn.pad` with
    the negated numbers. No FLOP; what of x stays is read, y is written.
    `%y = dnn.pad %x {before = array<i64: 0, 1, 1>} : (tensor<?x64x28x28xf32>) -> tensor<?x64x30x30xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<DenseI64ArrayAttr>:$before, OptionalAttr<DenseI64ArrayAttr>:$after,
                       DefaultValuedAttr<Dnn_Number, "0.0">:$value);
  let results = (outs Dnn_Tensor:$y);
  let more = Dnn_ReadsTouched;
}
def Dnn_PadSliceOp : Dnn_WorkOp<"pad_slice", 0> {
  let summary = "a slice put back at `start` along `axis` into zeros: gradient of `dnn.slice`";
  let description = "No FLOP; the result is written.";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Int:$axis, Dnn_Int:$start);
  let results = (outs Dnn_Tensor:$y);
}

// Slices of a tensor for the iterations of a repeat.
class Dnn_Stacked<string mnemonic, string whole> : Dnn_ForwardOp<mnemonic, 0> {
  let required = ["axis"];
  let work = "return ::accord::dnn::stackWork(getOperation(), " # whole # "().getType(), getDimension());";
  let more = Dnn_IsView # "int64_t getDimension(); ///< of the whole tensor: the one that counts slices\n";
  let hasFolder = 1;
}
def Dnn_UnstackOp : Dnn_Stacked<"unstack", "getX"> {
  let ranks = [1];
  let summary = "the slices of x along `axis`, one for each iteration of a repeat";
  let description = [{
    A repeat takes the slices with `unstash`: time of a recurrent network is such a repeat. A view: a slice is a part of x that lies there
    with a stride, which matrix products and element-wise kernels take as it is (the leading dimension of BLAS, `torch.unbind`), so what
    reads a slice is charged for it and nobody else is. x is held as long as one of its slices is needed.
    ```mlir
    %s = dnn.unstack %x {axis = 0 : i64} : (tensor<?x50x8xf32>) -> !dnn.stash<50 x tensor<?x8xf32>>
    %h = dnn.repeat 50 as "time" iter(%a = %zero : tensor<?x8xf32>) unstash(%b = %s : !dnn.stash<50 x tensor<?x8xf32>>) {
      %c = dnn.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
      dnn.yield %c : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$axis);
  let results = (outs Dnn_StashType:$slices);
}
def Dnn_StackOp : Dnn_Stacked<"stack", "getY"> {
  let takesTensors = 0;
  let summary = "what the iterations of a repeat stashed, as one tensor with a new dimension `axis`";
  let description = [{
    Inverse of `dnn.unstack`, and a view like it: every iteration has written its slice to where it belongs in y, as a kernel does that is
    given the output's strides. `axis` counts the dimensions of y after the batch; slices stand in the order of iterations, also those of a
    `reverse` repeat.
    `%y = dnn.stack %s {axis = 0 : i64} : (!dnn.stash<50 x tensor<?x8xf32>>) -> tensor<?x50x8xf32>`
  }];
  let arguments = (ins Dnn_StashType:$slices, OptionalAttr<Dnn_Int>:$axis);
  let results = (outs Dnn_Tensor:$y);
}

class Dnn_Reduce<string mnemonic, string what> : Dnn_ForwardOp<mnemonic, 1> {
  let ranks = [1];
  let required = ["axis"];
  let inference = "return ::accord::dnn::inferReduce(infer, *adaptor.getAxis());";
  let summary = what # " along `axis`, which is dropped";
  let description = "1 FLOP per element of x.\n`%y = dnn." # mnemonic # " %x {axis = 0 : i64} : (tensor<?x16x8xf32>) -> tensor<?x8xf32>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$axis);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::alongWork(getOperation(), getX().getType(), *getAxis());";
}
def Dnn_ReduceSumOp : Dnn_Reduce<"reduce_sum", "sum">;
def Dnn_ReduceMeanOp : Dnn_Reduce<"reduce_mean", "mean">;
def Dnn_ReduceMaxOp : Dnn_Reduce<"reduce_max", "maximum">;
def Dnn_ReduceMinOp : Dnn_Reduce<"reduce_min", "minimum">;
def Dnn_ReduceMaxGradOp : Dnn_WorkOp<"reduce_max_grad", 1> {
  let summary = "gradient of `dnn.reduce_max` and `dnn.reduce_min`: dy goes to the first element along `axis` that is y";
  let description = "1 FLOP (a comparison) per element of x.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$y, Dnn_Int:$axis);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::alongWork(getOperation(), getX().getType(), getAxis());";
}
def Dnn_ReduceDimensionsOp : Dnn_WorkOp<"reduce_dimensions", 1> {
  let summary = "sum over tensor dimensions, the batch among them: gradient of a broadcast";
  let description = [{
    `dimensions` are counted from the batch; those in `kept` stay with extent 1, the others are dropped. 1 FLOP per element of x.
    `%db = dnn.reduce_dimensions %dy {dimensions = array<i64: 0, 1>} : (tensor<?x1024x1600xbf16>) -> tensor<1600xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x, DenseI64ArrayAttr:$dimensions, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$kept);
  let plain = 1;
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::reduceWork(getOperation(), getX().getType(), getDimensions());";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Dnn_BroadcastOp : Dnn_WorkOp<"broadcast", 0> {
  let summary = "x repeated along the result's dimensions `dimensions` (counted from the batch), which it lacks";
  let description = "Gradient of a reduction. No FLOP.";
  let arguments = (ins Dnn_Tensor:$x, DenseI64ArrayAttr:$dimensions);
  let plain = 1;
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::reduceWork(getOperation(), getY().getType(), getDimensions(), false);";
}

// How elements between those of a tensor are made.
def Dnn_ResampleMode : ConfinedAttr<StrAttr, [AttrConstraint<CPred<"::llvm::is_contained({\"nearest\", \"linear\"}, "
    "::llvm::cast<::mlir::StringAttr>($_self).getValue())">, "whose value is nearest or linear">]>;

class Dnn_Pool<string mnemonic, string what> : Dnn_ForwardOp<mnemonic, 1> {
  let ranks = [3];
  let required = ["kernel"];
  let inference = "return ::accord::dnn::inferPool(infer, *adaptor.getKernel(), "
    "adaptor.getStride().value_or(*adaptor.getKernel()), adaptor.getPadding());";
  let summary = what # " of windows of x[c, h, w], or of one or three dimensions after the channel";
  let description = "`stride` is `kernel` unless given; `padding` as that of `dnn.conv2d`. 1 FLOP per point of (n, c, p, q, r, s).\n"
    "`%y = dnn." # mnemonic # " %x {kernel = 2 : i64} : (tensor<?x64x112x112xf32>) -> tensor<?x64x56x56xf32>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Extents>:$kernel, OptionalAttr<Dnn_Extents>:$stride, DefaultValuedAttr<Dnn_Extents, "0">:$padding);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::windowWork(getOperation(), getX().getType(), getY().getType(), *getKernel(), "
             "getStride().value_or(*getKernel()), getPadding());";
}
def Dnn_MaxPoolOp : Dnn_Pool<"max_pool", "maximum">;
def Dnn_AvgPoolOp : Dnn_Pool<"avg_pool", "mean">;
def Dnn_MaxPoolGradOp : Dnn_WorkOp<"max_pool_grad", 1> {
  let summary = "gradient of `dnn.max_pool`: dy goes to the maximum of each window";
  let description = "1 FLOP (a comparison) per point of (n, c, p, q, r, s).";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$y, Dnn_Extents:$kernel, Dnn_Extents:$stride, Dnn_Extents:$padding);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::windowWork(getOperation(), getX().getType(), getDy().getType(), getKernel(), getStride(), getPadding());";
}
def Dnn_AvgPoolGradOp : Dnn_WorkOp<"avg_pool_grad", 1> {
  let summary = "gradient of `dnn.avg_pool`: dy spread evenly over each window";
  let description = "1 FLOP per point of (n, c, p, q, r, s).";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Extents:$kernel, Dnn_Extents:$stride, Dnn_Extents:$padding);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::windowWork(getOperation(), getDx().getType(), getDy().getType(), getKernel(), getStride(), getPadding());";
}
def Dnn_GlobalAvgPoolOp : Dnn_ForwardOp<"global_avg_pool", 1> {
  let ranks = [3];
  let summary = "mean of every channel of x[c, h, w] (or of one or three dimensions after the channel): [c]";
  let description = "1 FLOP per element of x.\n`%y = dnn.global_avg_pool %x : (tensor<?x2048x7x7xf32>) -> tensor<?x2048xf32>`";
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::globalPoolWork(getOperation(), getX().getType());";
}
def Dnn_UpsampleOp : Dnn_ForwardOp<"upsample", 0> {
  let ranks = [3];
  let required = ["scale"];
  let summary = "resampling of x[c, h, w] (or of one or three dimensions after the channel) to [c, h*scale, w*scale]";
  let description = [{
    `nearest`: each element is repeated; no FLOP. `linear`: from the neighbours of (p + 1/2) / scale - 1/2, two along each dimension, with
    weights that are tables and with the border repeated (linear, bilinear, trilinear; `align_corners = False` of PyTorch, `half_pixel` of
    ONNX): 2 FLOP for each of the 2, 4 or 8 neighbours of an element of y.
    `%y = dnn.upsample %x {scale = 2 : i64} : (tensor<?x64x28x28xf32>) -> tensor<?x64x56x56xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Extents>:$scale, DefaultValuedAttr<Dnn_ResampleMode, "\"nearest\"">:$mode);
  let results = (outs Dnn_Tensor:$y);
  let flopsPerPoint = "return getMode() == \"linear\" ? ::accord::dnn::neighbourFlops(getX().getType()) : 0;";
}
def Dnn_UpsampleGradOp : Dnn_WorkOp<"upsample_grad", 1> {
  let summary = "gradient of `dnn.upsample`: each element of dy is added to those that it was made of";
  let description = "1 FLOP per element of dy; with `linear` 2 for each of its neighbours.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Extents:$scale, DefaultValuedAttr<Dnn_ResampleMode, "\"nearest\"">:$mode);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::pointwiseWork(getOperation(), getDy().getType());";
  let flopsPerPoint = "return getMode() == \"linear\" ? ::accord::dnn::neighbourFlops(getDx().getType()) : 1;";
}
#endif
