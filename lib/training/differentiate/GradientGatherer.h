// Weight gradients of all iterations of a repeat as one product.
#pragma once

namespace mlir {
class Operation;
}

namespace accord {

/// Moves what the iterations of backward repeats that walk a tensor add up (weight gradients: products, sums, gradients
/// of look-ups) behind the repeat; inner repeats come first. A carried value that only gets such summands is carried no
/// more; what they are made of is stashed, if it is not yet, and one operation with one more reduced dimension takes
/// their place. The sum is the same in another order: FLOPs of products stay, the additions go. `root` holds the
/// repeats and all names that are taken.
void gatherGradients(mlir::Operation *root);

} // namespace accord
