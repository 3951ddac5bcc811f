// One function for each family of configurations: what it says, as text. Internal to lib/import.
#pragma once
#include "lib/import/huggingface/Draft.h"

namespace accord::import {

using WriteFamily = void(Config &, Draft &);

// Decoders with rotary positions and gated feed-forward layers.
WriteFamily llama, mixtral, qwen2, qwen3, qwen3Experts, gemma, gemma2, gemma3, gemma3WithImages, phi3, gptOss, deepSeek;
// Decoders of other kinds.
WriteFamily gpt2, gptNeoX, opt, bloom, falcon;
// Encoders of texts and images, and pairs of an encoder and a decoder.
WriteFamily bert, roberta, vit, t5, whisper;
// Scans along a text, and pairs of a text and an image.
WriteFamily mamba, clip;

} // namespace accord::import
