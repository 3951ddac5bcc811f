// What marks the candidates of a request.
#pragma once
namespace accord {
/// Attribute of models and training graphs: the recomputation policy they are built with.
inline constexpr const char *kRecomputePolicy = "dnn.recompute_policy";
} // namespace accord
