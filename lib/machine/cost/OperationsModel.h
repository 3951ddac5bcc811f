// The cost model of a machine whose operations were measured one by one.
#pragma once
#include "lib/machine/cost/CostModel.h"
#include "lib/machine/operations/Fit.h"

namespace accord {

/// Names of these models begin with it. Their times are those of one clock, whatever the machine's is.
constexpr std::string_view kOperationsModel = "operations of ";

/// Registers a cost model by a fit of single operations (`operations::predict`) to `device`, and gives its name, which
/// follows from the device and the numbers of the fit. It prices in fp32 products, softmax and layer norm forward, and
/// what is element-wise: the latter by its bytes. Anything else is priced as `makePeakModel` does, and an assumption
/// says so. `source` is what assumptions and formulas name. A time is never below a transfer time of the machine.
std::string registerOperationsModel(const operations::Fit &fit, const operations::Device &device,
                                    const std::string &source);

/// The operation as a row of a table would state it; nothing where no row could.
std::optional<operations::Operation> measurableOperation(const Operation &operation, const std::string &type);

} // namespace accord
