#include "test/fuzz/readers/Programs.h"

void accord::fuzz::readDnn(std::string_view input) { readProgram(input, "fuzz.dnn"); }
