// Inputs changed in terms of what they are: libFuzzer by itself knows only bytes.
#pragma once
#include "test/fuzz/Corpus.h"
#include "test/support/Random.h"
#include <string>
#include <string_view>

namespace accord::fuzz {

/// What changes of inputs draw from: the inputs of the corpus of a reader, their words, and what stands between quotes
/// in the sources of the reader and in the grammars.
Corpus materialOf(const std::string &reader, const std::string &files);

/// Makes a changed input from `input`, or an empty text where it is not of the kind.
using Mutate = std::string (*)(Random &random, const Corpus &material, std::string_view input);

/// Of texts: by tokens (`mutate`).
std::string mutateText(Random &random, const Corpus &material, std::string_view input);
/// Of JSON: 1 to 4 of its values, keys and elements are changed, dropped, doubled, exchanged.
std::string mutateJson(Random &random, const Corpus &material, std::string_view input);
/// Of ONNX files: 1 to 4 of the operators, attributes, edges, shapes and constants of the graph.
std::string mutateOnnx(Random &random, const Corpus &material, std::string_view input);

} // namespace accord::fuzz
