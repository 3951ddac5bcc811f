// Random models that are meant to be right: what lies behind the front end sees many graphs this
// way.
#pragma once
#include "test/support/Random.h"

namespace accord::fuzz {

/// A `.dnn` program with one model, its machine and its training. Shapes are followed, so nearly
/// every call fits its operands; every value is used.
std::string writeModel(Random &random);

} // namespace accord::fuzz
