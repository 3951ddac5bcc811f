// Operations whose access depends on data: lookups, scatters, segments, sparse matrices, selection. Indices are integers
// per sample. Maps leave the position open; the bytes count what is touched.
#ifndef ACCORD_DNN_SPARSE
#define ACCORD_DNN_SPARSE
include "dialects/dnn/definitions/DnnWork.td"

def Dnn_EmbeddingOp : Dnn_ForwardOp<"embedding", 0> {
  let ranks = [0, 2];
  let summary = "y[.., :] = table[ids[..], :]";
  let description = "No FLOP; reads the ids and the rows looked up, not the table. If `sparse`, the table's gradient is stored as rows, and the update (by an "
    "`optimizer` of its own, where it has one) touches these alone.\n"
    "`%y = dnn.embedding %ids, %t : (tensor<?x1024xi32>, tensor<50257x1600xbf16>) -> tensor<?x1024x1600xbf16>`";
  let arguments = (ins Dnn_Tensor:$ids, Dnn_Tensor:$table, DefaultValuedAttr<BoolAttr, "false">:$sparse, OptionalAttr<StrAttr>:$optimizer);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation()), {1});";
  let more = Dnn_ReadsTouched;
}
def Dnn_EmbeddingGradOp : Dnn_WorkOp<"embedding_grad", 1> {
  let summary = "gradient of a lookup: dtable[ids[..], :] += dy[.., :]";
  let description = "1 FLOP per element of dy. Reads dy, ids and the touched rows, writes the touched rows; a sparse dtable: reads dy and ids, writes ids and rows.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$ids);
  let results = (outs Dnn_Tensor:$dtable);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation(), getDy().getType()), {2});";
  let more = Dnn_BothTouched;
  let hasVerifier = 1;
}
def Dnn_EmbeddingBagOp : Dnn_ForwardOp<"embedding_bag", 1> {
  let ranks = [0, 2];
  let summary = "y[.., :] = sum (or mean) over n of table[ids[.., n], :]";
  let description = "1 FLOP per point of (.., n, dim); reads the ids and the rows looked up, with `skew` each different row once: the id of rank r is "
    "then drawn in proportion to r^-skew (Zipf), so that the expected number of different rows among all lookups counts.\n"
    "`%y = dnn.embedding_bag %ids, %t {mode = \"sum\"} : (tensor<?x20xi32>, tensor<1000000x64xf32>) -> tensor<?x64xf32>`";
  let arguments = (ins Dnn_Tensor:$ids, Dnn_Tensor:$table, DefaultValuedAttr<StrAttr, "\"sum\"">:$mode, OptionalAttr<Dnn_Skew>:$skew,
                       DefaultValuedAttr<BoolAttr, "false">:$sparse, OptionalAttr<StrAttr>:$optimizer);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::bagWork(getOperation(), getIds().getType(), getY().getType());";
  let more = Dnn_ReadsTouched;
}
def Dnn_EmbeddingBagGradOp : Dnn_WorkOp<"embedding_bag_grad", 1> {
  let summary = "gradient of `dnn.embedding_bag`: dtable[ids[.., n], :] += dy[.., :]";
  let description = "1 FLOP per point of (.., n, dim). Reads dy, ids and the touched rows, writes the touched rows; with `skew` each once; of a sparse dtable, a row for each id.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$ids, DefaultValuedAttr<StrAttr, "\"sum\"">:$mode, OptionalAttr<Dnn_Skew>:$skew);
  let results = (outs Dnn_Tensor:$dtable);
  let work = "return ::accord::dnn::bagWork(getOperation(), getIds().getType(), getDy().getType());";
  let more = Dnn_BothTouched;
  let hasVerifier = 1;
}
def Dnn_JoinRowsOp : Dnn_WorkOp<"join_rows", 0> {
  let summary = "the sum of two sparse gradients of one table: the rows of both, those of a first";
  let description = "A view: both lie one after the other where they were written.\n"
    "`%y = dnn.join_rows %a, %b : (tensor<100x4xf32, #dnn.rows<8 x i32>>, tensor<100x4xf32, #dnn.rows<1 x i32>>) -> tensor<100x4xf32, #dnn.rows<9 x i32>>`";
  let arguments = (ins Dnn_Tensor:$a, Dnn_Tensor:$b);
  let results = (outs Dnn_Tensor:$y);
  let more = Dnn_IsView;
  let hasVerifier = 1;
}
def Dnn_RelativeBiasOp : Dnn_ForwardOp<"relative_bias", 0> {
  let ranks = [2];
  let required = ["queries", "keys"];
  let summary = "y[h, q, k] = table[bucket(k - q), h]: a learned bias per head and distance (Raffel et al., T5, 2019)";
  let description = [{
    Half of the n buckets are distances of their own, the others grow with the logarithm up to `max_distance`: bucket(-d) = d for d < n/2, else
    n/2 + floor(log(d / (n/2)) / log(max_distance / (n/2)) * n/2), at most n - 1. If `bidirectional`, n is half of the table, and the
    other half is for keys after the query; if not, those share bucket 0. No FLOP.
    `%b = dnn.relative_bias %t {queries = 512 : i64, keys = 512 : i64} : (tensor<32x16xbf16>) -> tensor<16x512x512xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$table, OptionalAttr<Dnn_Int>:$queries, OptionalAttr<Dnn_Int>:$keys,
                       DefaultValuedAttr<Dnn_Int, "128">:$max_distance, DefaultValuedAttr<BoolAttr, "true">:$bidirectional);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation()), {0});";
}
def Dnn_RelativeBiasGradOp : Dnn_WorkOp<"relative_bias_grad", 1> {
  let summary = "gradient of `dnn.relative_bias`: dtable[bucket(k - q), h] += dy[h, q, k]";
  let description = "1 FLOP per element of dy.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Int:$max_distance, BoolAttr:$bidirectional);
  let results = (outs Dnn_Tensor:$dtable);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation(), getDy().getType()), {1});";
}
def Dnn_GatherOp : Dnn_ForwardOp<"gather", 0> {
  let ranks = [1, 0];
  let summary = "y = x's entries `ids` along `axis`; ids' dimensions replace the axis";
  let description = "No FLOP; reads the ids and the entries.\n"
    "`%y = dnn.gather %x, %i {axis = 0 : i64} : (tensor<?x2708x16xf32>, tensor<?x10556xi32>) -> tensor<?x10556x16xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$ids, DefaultValuedAttr<Dnn_Int, "0">:$axis);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation()), {0});";
  let more = Dnn_ReadsTouched;
}
def Dnn_GatherGradOp : Dnn_WorkOp<"gather_grad", 1> {
  let summary = "gradient of `dnn.gather`: dx (zero) with dy added at `ids` along `axis`";
  let description = "1 FLOP per element of dy. Writes dx, then reads and writes the touched entries.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$ids, Dnn_Int:$axis);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation(), getDy().getType()), {2});";
  let more = Dnn_BothTouched;
}
def Dnn_ScatterOp : Dnn_ForwardOp<"scatter", 1> {
  let ranks = [1, 1, 1];
  let summary = "y = x with `updates` added at the entries `ids` along `axis`";
  let description = "Duplicates accumulate. 1 FLOP per element of updates.\n"
    "`%y = dnn.scatter %x, %i, %u {axis = 0 : i64} : (tensor<?x8x4xf32>, tensor<?x3xi32>, tensor<?x3x4xf32>) -> tensor<?x8x4xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$ids, Dnn_Tensor:$updates, DefaultValuedAttr<Dnn_Int, "0">:$axis);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation(), getUpdates().getType()), {0, 3});";
}
def Dnn_SegmentSumOp : Dnn_ForwardOp<"segment_sum", 1> {
  let ranks = [1, 1];
  let required = ["segments"];
  let summary = "y[s, ..] = sum of x[i, ..] over the i with ids[i] = s";
  let description = "1 FLOP per element of x.\n`%y = dnn.segment_sum %x, %i {segments = 2708 : i64} : "
                    "(tensor<?x10556x16xf32>, tensor<?x10556xi32>) -> tensor<?x2708x16xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$ids, OptionalAttr<Dnn_Int>:$segments);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation(), getX().getType()), {2});";
}
def Dnn_SegmentSoftmaxOp : Dnn_ForwardOp<"segment_softmax", 5> {
  let ranks = [1, 1];
  let required = ["segments"];
  let summary = "y[i, ..] = exp(x[i, ..] - max) / sum of exp(x[j, ..] - max) over the j with ids[j] = ids[i]";
  let description = "5 FLOP per element, as `dnn.softmax`. Maximum and sum are of each of the `segments`.\n"
    "`%y = dnn.segment_softmax %x, %i {segments = 2708 : i64} : (tensor<?x13264x8xf32>, tensor<?x13264xi32>) -> tensor<?x13264x8xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$ids, OptionalAttr<Dnn_Int>:$segments);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::alongWork(getOperation(), getX().getType(), 0);";
}
def Dnn_SegmentSoftmaxGradOp : Dnn_WorkOp<"segment_softmax_grad", 4> {
  let summary = "gradient of `dnn.segment_softmax`: dx = (dy - sum(dy * y) over the segment) * y";
  let description = "4 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$y, Dnn_Tensor:$ids, Dnn_Int:$segments);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::alongWork(getOperation(), getDy().getType(), 0);";
}
def Dnn_SpmmOp : Dnn_ForwardOp<"spmm", 2> {
  let ranks = [1, 1, 1, 2];
  let summary = "y[r, :] = sum over the non-zeros e of row r of values[e] * dense[columns[e], :] (CSR)";
  let description = [{
    `row_offsets` has rows + 1 entries. 2 FLOP per point of (non-zero, column of dense).
    `%y = dnn.spmm %r, %c, %v, %d : (tensor<?x2709xi32>, tensor<?x10556xi32>, tensor<?x10556xf32>, tensor<?x2708x16xf32>) -> tensor<?x2708x16xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$row_offsets, Dnn_Tensor:$columns, Dnn_Tensor:$values, Dnn_Tensor:$dense);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::spmmWork(getOperation(), getColumns().getType(), getDense().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_SpmmValuesGradOp : Dnn_WorkOp<"spmm_values_grad", 2> {
  let summary = "dvalues[e] = dy[row(e), :] . dense[columns[e], :]";
  let description = "2 FLOP per point of (non-zero, column of dense).";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$row_offsets, Dnn_Tensor:$columns, Dnn_Tensor:$dense);
  let results = (outs Dnn_Tensor:$dvalues);
  let work = "return ::accord::dnn::spmmWork(getOperation(), getColumns().getType(), getDense().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_SpmmDenseGradOp : Dnn_WorkOp<"spmm_dense_grad", 2> {
  let summary = "ddense[columns[e], :] += values[e] * dy[row(e), :]";
  let description = "2 FLOP per point of (non-zero, column of dense).";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$row_offsets, Dnn_Tensor:$columns, Dnn_Tensor:$values);
  let results = (outs Dnn_Tensor:$ddense);
  let work = "return ::accord::dnn::spmmWork(getOperation(), getColumns().getType(), getDdense().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_TopkOp : Dnn_ForwardOp<"topk", 1> {
  let ranks = [1];
  let required = ["k"];
  let summary = "the k largest entries along the last dimension, and their positions";
  let description = "1 FLOP (a comparison) per element of x.\n"
    "`%v, %i = dnn.topk %x {k = 2 : i64} : (tensor<?x1024x8xf32>) -> (tensor<?x1024x2xf32>, tensor<?x1024x2xi32>)`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$k);
  let results = (outs Dnn_Tensor:$values, Dnn_Tensor:$ids);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::alongWork(getOperation(), getX().getType(), -1), {1, 2});";
}
def Dnn_TopkGradOp : Dnn_WorkOp<"topk_grad", 0> {
  let summary = "gradient of `dnn.topk`: dvalues at their positions, zero elsewhere";
  let description = "No FLOP; dx is written.";
  let arguments = (ins Dnn_Tensor:$dvalues, Dnn_Tensor:$ids);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::dataDependentWork(::accord::dnn::pointwiseWork(getOperation()), {0, 1});";
}
#endif
