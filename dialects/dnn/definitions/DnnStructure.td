// What holds the operations: models, parameters, repeats, training graphs, updates.
#ifndef ACCORD_DNN_STRUCTURE
#define ACCORD_DNN_STRUCTURE
include "dialects/dnn/definitions/DnnWork.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dnn_ModelOp : Dnn_Op<"model", [IsolatedFromAbove, Symbol, SymbolTable, SingleBlock, NoTerminator]> {
  let summary = "a model as written: parameters, forward operations, one loss";
  let description = [{
    The block arguments are the inputs of one step (batch first). `precision` and `optimizer` are the defaults of
    `build-training-graph`; a `dnn.train` that names the model overrides them.
    ```mlir
    dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) attributes {optimizer = #dnn.optimizer<adam>} {
      dnn.parameter @fc.weight : tensor<2x4xf32>
      %w = dnn.read @fc.weight : tensor<2x4xf32>
      %y = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
      %l = dnn.mse %y, %t : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
      dnn.loss %l : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Dnn_PrecisionAttr>:$precision,
                       OptionalAttr<Dnn_OptimizerAttr>:$optimizer, OptionalAttr<StrArrayAttr>:$input_names);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, CArg<"::mlir::TypeRange", "{}">:$inputs)>];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getInputs() { return getBody().getArguments(); }
    ::mlir::Block &getBlock() { return getBody().front(); }
  }];
}

def Dnn_TrainOp : Dnn_Op<"train", [Symbol]> {
  let summary = "a training job: which model, with which batch, precision and optimizer";
  let description = "`dnn.train @gpt3 of @gpt {batch = 1536 : i64, optimizer = #dnn.optimizer<adam>}`";
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$model, OptionalAttr<Dnn_Int>:$batch,
                       OptionalAttr<Dnn_PrecisionAttr>:$precision, OptionalAttr<Dnn_OptimizerAttr>:$optimizer);
  let assemblyFormat = "$sym_name `of` $model attr-dict";
}

def Dnn_ParameterOp : Dnn_Op<"parameter", [Symbol]> {
  let summary = "a trained tensor; inside a repeat, one copy per iteration";
  let description = "`dnn.parameter @block.fc1.weight : tensor<6400x1600xbf16> copies 48`: `copies` is the product of the "
                    "counts of the repeats it is read in, 1 outside.";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Dnn_Tensor>:$type, DefaultValuedAttr<Dnn_Int, "1">:$copies);
  let assemblyFormat = "$sym_name `:` $type (`copies` $copies^)? attr-dict";
  let plain = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// Trained scalars of all copies.
    int64_t getElements() { return getTensorType().getNumElements() * getCopies(); }
  }];
}

// What refers to a parameter and costs nothing by itself.
class Dnn_Reference<string mnemonic, list<Trait> traits, string over> : Dnn_Op<mnemonic,
    !listconcat(traits, [DeclareOpInterfaceMethods<SymbolUserOpInterface>, WorkOpInterface])> {
  let extraClassDeclaration = Dnn_IsView # "int64_t getFlopsPerPoint() { return 0; }\n"
    "::accord::Work getWork() { return ::accord::dnn::pointwiseWork(getOperation(), " # over # "().getType()); }\n";
}
def Dnn_ReadOp : Dnn_Reference<"read", [Pure], "getResult"> {
  let summary = "the value of a parameter; inside a repeat, of this iteration's copy";
  let description = "A view: the bytes are counted where the value is used. All reads of one parameter stand in one block. With an element "
                    "type of 8 bits, narrower than the parameter's, it is the copy that the update quantizes.";
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs Dnn_Tensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
  let builders = [Accord_Builder<results, arguments, 0, 0>.builder, OpBuilder<(ins "::accord::dnn::ParameterOp":$parameter)>];
}

def Dnn_RepeatOp : Dnn_Op<"repeat", [AttrSizedOperandSegments, AttrSizedResultSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a region executed `count` times, with carried values";
  let description = [{
    The block arguments are the carried values, then one slice of each `unstash` operand. `dnn.yield` gives the next
    carried values and, after `stash`, values of which every iteration keeps one: the results of type `!dnn.stash`.
    A `reverse` repeat runs iterations count-1 ... 0 and reads the slice (and the parameter copies) of that iteration.
    Values of the enclosing regions may be used (captured).
    ```mlir
    %y, %s = dnn.repeat 48 as "block" iter(%a = %x : tensor<?x8xf32>) stash(!dnn.stash<48 x tensor<?x8xf32>>) {
      %h = dnn.gelu %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
      dnn.yield %h : tensor<?x8xf32> stash(%a : tensor<?x8xf32>)
    }
    %dx = dnn.repeat 48 as "block" reverse iter(%d = %dy : tensor<?x8xf32>) unstash(%b = %s : !dnn.stash<48 x tensor<?x8xf32>>) {
      %g = dnn.gelu_grad %d, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
      dnn.yield %g : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Dnn_Int:$count, StrAttr:$label, UnitAttr:$reverse,
                       Variadic<Dnn_Value>:$inits, Variadic<Dnn_StashType>:$unstashed);
  let results = (outs Variadic<Dnn_Value>:$carried, Variadic<Dnn_StashType>:$stashed);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "int64_t":$count, "::llvm::StringRef":$label, "::mlir::ValueRange":$inits,
                                 CArg<"::mlir::ValueRange", "{}">:$unstashed, CArg<"::mlir::TypeRange", "{}">:$stashed,
                                 CArg<"bool", "false">:$reverse)>];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    YieldOp getYield();
    /// The stash outside that holds a value of the body of every iteration, taken or filled; null if there is none.
    ::mlir::Value stashOf(::mlir::Value inside);
    /// A repeat like this one, with its attributes and another body.
    RepeatOp like(::mlir::OpBuilder &builder, ::mlir::ValueRange inits, ::mlir::ValueRange unstashed, ::mlir::TypeRange stashed);
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarriedArguments() {
      return getBlock().getArguments().take_front(getInits().size());
    }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getUnstashedArguments() {
      return getBlock().getArguments().drop_front(getInits().size());
    }
  }];
  let hasCanonicalizeMethod = 1;
}

def Dnn_YieldOp : Dnn_Op<"yield", [Pure, Terminator, AttrSizedOperandSegments, ParentOneOf<["RepeatOp", "FusedOp"]>]> {
  let summary = "end of an iteration: next carried values, and values stashed for the reverse; or of a fused operation: its results";
  let arguments = (ins Variadic<Dnn_Value>:$carried, Variadic<Dnn_Value>:$stashed);
  let assemblyFormat = [{
    ($carried^ `:` type($carried))? (`stash` `(` $stashed^ `:` type($stashed) `)`)? attr-dict
  }];
  let builders = [OpBuilder<(ins CArg<"::mlir::ValueRange", "{}">:$carried, CArg<"::mlir::ValueRange", "{}">:$stashed), [{
    $_state.addOperands(carried);
    $_state.addOperands(stashed);
    $_state.getOrAddProperties<Properties>().operandSegmentSizes = {int32_t(carried.size()), int32_t(stashed.size())};
  }]>];
}

def Dnn_LossOp : Dnn_Op<"loss"> {
  let summary = "the scalar that training minimizes";
  let arguments = (ins Dnn_Tensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Dnn_OutputOp : Dnn_Op<"output", [HasParent<"MicrobatchOp">]> {
  let summary = "what a forward pass gives back: the values from which the loss would be taken";
  let arguments = (ins Variadic<Dnn_Tensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Dnn_TrainingGraphOp : Dnn_Op<"training_graph",
    [IsolatedFromAbove, Symbol, SymbolTable, SingleBlock, NoTerminator]> {
  let summary = "one training step: parameters, a micro-batch (forward and backward), an optimizer step";
  let description = [{
    Holds `dnn.parameter`s, one `dnn.microbatch` and one `dnn.optimizer_step`. Verified: every parameter has exactly one
    `dnn.gradient`, in repeats whose counts multiply to its copies, and exactly one `dnn.update`, whose `rows` are those of the gradient, as
    many times as replicas have gathered theirs, and which is `quantized` to the type of 8 bits in which the parameter is read, if it is.
    With the optimizer `none` it is inference: the micro-batch is the forward pass, ends in `dnn.output`, and nothing has a gradient or an update.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dnn_PrecisionAttr:$precision, Dnn_OptimizerAttr:$optimizer,
                       OptionalAttr<StrArrayAttr>:$input_names);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::accord::dnn::PrecisionAttr":$precision,
                                 "::accord::dnn::OptimizerKindAttr":$optimizer)>];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    MicrobatchOp getMicrobatch();
    OptimizerStepOp getOptimizerStep();
    bool isInference() { return getOptimizer() == OptimizerKind::None; }
    auto getParameters() { return getBlock().getOps<ParameterOp>(); }
  }];
}

def Dnn_MicrobatchOp : Dnn_Op<"microbatch", [SingleBlock, NoTerminator, HasParent<"TrainingGraphOp">]> {
  let summary = "forward and backward of one micro-batch; the block arguments are the inputs";
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let builders = [OpBuilder<(ins)>];
  let extraClassDeclaration = "::mlir::Block &getBlock() { return getBody().front(); }";
}

def Dnn_OptimizerStepOp : Dnn_Op<"optimizer_step", [SingleBlock, NoTerminator, HasParent<"TrainingGraphOp">]> {
  let summary = "the updates, once per step after the last micro-batch";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let builders = [OpBuilder<(ins)>];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    auto getUpdates() { return getBlock().getOps<UpdateOp>(); }
  }];
}

def Dnn_GradientOp : Dnn_Reference<"gradient", [], "getValue"> {
  let summary = "accumulates a value into the gradient buffer of a parameter (in a repeat: of this iteration's copy)";
  let description = "Costs nothing by itself: the operation that computes the value writes into the buffer.";
  let arguments = (ins FlatSymbolRefAttr:$parameter, Dnn_Tensor:$value);
  let assemblyFormat = "$parameter `,` $value attr-dict `:` type($value)";
}

def Dnn_UpdateOp : Dnn_Op<"update", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<WorkOpInterface, ["getBytesRead", "getBytesWritten"]>]> {
  let summary = "the optimizer's update of all copies of one parameter";
  let description = [{
    FLOP per element: sgd 2 (w -= lr*g); momentum 4 (m = mu*m + g; w -= lr*m); adam 14 (m: 3, v: 4, bias corrections 2,
    square root, epsilon, division, rate, subtraction); adamw 16 (adam, and w -= lr*decay*w); rowwise_adagrad 4 (s += mean(g*g) of the row,
    w -= lr*g / sqrt(s); one state per row).
    Bytes per element: reads gradient, weight (the master when mixed) and states; writes weight, master and states.
    With `rows`, the gradient is sparse and of so many rows for each sample of the step: they are read, and the rows of weight, master and
    states that they name are read and written: at most those of the table. The states of other rows stay as they are (PyTorch's SparseAdam).
    With `quantized`, the weight is read again after the update, and two copies of it in this type are written and stay: as it is, and
    transposed. Tensor cores of Hopper take operands of 8 bits with the summed dimension innermost, and the forward pass and the data
    gradient sum over different ones. So the copies are made once per step, as Transformer Engine does it (NVIDIA, Transformer Engine
    documentation, `is_first_microbatch`; `Float8Tensor` and its transpose).
    `dnn.update @w : tensor<8x4xbf16> copies 48 {optimizer = #dnn.optimizer<adam>, precision = #dnn.precision<mixed, bf16>}`
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, TypeAttrOf<Dnn_Tensor>:$type, DefaultValuedAttr<Dnn_Int, "1">:$copies,
                       Dnn_OptimizerAttr:$optimizer, Dnn_PrecisionAttr:$precision, OptionalAttr<Dnn_RowsAttr>:$rows,
                       OptionalAttr<TypeAttr>:$quantized);
  let assemblyFormat = "$parameter `:` $type (`copies` $copies^)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}
#endif
