#!/usr/bin/env python3
"""Counts what Megatron-LM builds by the arguments of a script alone, and holds it against the plan that it starts.

usage: megatron_parameters.py SCRIPT PLAN.json [PUBLISHED]

Megatron core 0.13 itself, built on the meta device with its local modules, gave the same numbers: GPT-2 medium, GPT-3, Llama 2 and 3
and Mixtral whole, and the first and the last stage of one rank of GPT-2 medium, GPT-3, Llama 3 70B and Mixtral; BERT-Large on the CPU,
with stand-ins for the kernels of its norms and for Transformer Engine.

The modules are those of core 0.13 (NVIDIA/Megatron-LM): SelfAttention and CrossAttention with column-parallel queries, keys and
values and a row-parallel projection, MLP, the experts of MoELayer with their TopKRouter, LanguageModelEmbedding,
RelativePositionEmbedding, BertLMHead with Pooler, and T5LMHead. A column-parallel product divides its bias among the ranks, a
row-parallel one has it on each; norms, routers, learned positions and what BERT has before its heads are on each. The table of tokens
is padded to a multiple of --make-vocab-size-divisible-by times the tensor parallel size. A tied head on another stage than the
embedding has a copy of the table. Bytes: a weight has 2 in bf16, its gradient 4 (--accumulate-allreduce-grads-in-fp32) or 2, Adam's
states 12 (weight, momentum and variance in fp32), which --use-distributed-optimizer divides among the replicas; without --bf16 4, 4
and 8. --data-parallel-sharding-strategy divides what it names, too.
"""
import json
import re
import shlex
import sys


class Flags(dict):
    def number(self, name, default=None):
        return int(self.get(name, default))


def flags_of(text):
    """Of a script: the name of the program, and its arguments with their values."""
    words = shlex.split(re.sub(r"\\\n", " ", text), comments=True)
    program = next(re.search(r"pretrain_\w+\.py", word).group() for word in words if "/pretrain_" in word)
    flags = Flags()
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("--"):
            flags[word] = following if not following.startswith("--") and following != ")" else ""
    return program, flags


class Model:
    """What one rank of tensor parallelism has of each part, in parameters."""

    def __init__(self, program, flags, tensor, experts_here=None, expert_tensor=1, is_padded=True):
        self.program, self.flags, self.tensor = program, flags, tensor
        self.hidden, self.heads = flags.number("--hidden-size"), flags.number("--num-attention-heads")
        self.size = flags.number("--kv-channels", self.hidden // self.heads)
        self.groups = flags.number("--num-query-groups") if "--group-query-attention" in flags else self.heads
        self.inner = flags.number("--ffn-hidden-size", 4 * self.hidden)
        self.bias = "--disable-bias-linear" not in flags
        self.query_bias = self.bias or "--add-qkv-bias" in flags
        self.experts_here, self.expert_tensor = experts_here, expert_tensor
        rows = flags.number("--vocab-size")
        multiple = flags.number("--make-vocab-size-divisible-by", 128) * tensor if is_padded else 1
        self.rows = (rows + multiple - 1) // multiple * multiple

    def share(self, number):
        assert number % self.tensor == 0, f"{number} is not divided among {self.tensor} ranks"
        return number // self.tensor

    def norm(self):
        return self.hidden * (1 if self.flags.get("--normalization") == "RMSNorm" else 2)

    def attention(self):
        queries, keys = self.heads * self.size, self.groups * self.size
        assert self.groups % self.tensor == 0 and self.heads % self.groups == 0
        inputs = self.share(queries + 2 * keys)
        return inputs * (self.hidden + self.query_bias) + self.share(queries) * self.hidden + self.bias * self.hidden

    def network(self):
        wide = 2 if "--swiglu" in self.flags else 1
        assert not (wide == 2 and "--squared-relu" in self.flags)
        if "--num-experts" in self.flags:
            assert not self.bias
            return self.flags.number("--num-experts") * self.hidden, self.expert(wide)
        return self.share(self.inner) * (wide * (self.hidden + self.bias) + self.hidden) + self.bias * self.hidden, 0

    def expert(self, wide):
        inner = self.flags.number("--moe-ffn-hidden-size", self.inner)
        here = self.flags.number("--num-experts") if self.experts_here is None else self.experts_here
        assert inner % self.expert_tensor == 0
        return here * inner // self.expert_tensor * self.hidden * (wide + 1)

    def block(self):
        """Of a decoder or an encoder: with the experts' parameters apart."""
        dense, experts = self.network()
        return 2 * self.norm() + self.attention() + dense, experts

    def table(self):
        return self.share(self.rows) * self.hidden

    def embedding(self):
        positions = self.flags.get("--position-embedding-type", "learned_absolute")
        kinds = 2 if self.is_bert_with_pairs() else 0
        relative = 2 * self.flags.number("--relative-attention-num-buckets", 32) * self.heads if positions == "relative" else 0
        learned = self.flags.number("--max-position-embeddings") if positions == "learned_absolute" else 0
        return self.table() + (learned + kinds) * self.hidden + relative

    def is_bert_with_pairs(self):
        return self.program == "pretrain_bert.py" and "--bert-no-binary-head" not in self.flags

    def head(self, has_embedding):
        untied = "--untie-embeddings-and-output-weights" in self.flags
        total = self.norm() + (self.table() if untied or not has_embedding else 0)
        if self.program == "pretrain_bert.py":
            square = self.hidden * self.hidden + self.hidden
            total += square + self.norm() + self.share(self.rows)
            total += square + 2 * self.hidden + 2 if self.is_bert_with_pairs() else 0
        if self.program == "pretrain_t5.py":
            total += self.norm() + (0 if untied else self.share(self.rows))
        return total

    def whole(self):
        """All of it on one stage: what all ranks have in common, and experts."""
        dense, experts = self.block()
        if self.program == "pretrain_t5.py":
            encoder, decoder = self.flags.number("--encoder-num-layers"), self.flags.number("--decoder-num-layers")
            dense = encoder * dense + decoder * (dense + self.norm() + self.attention())
        else:
            dense, experts = self.flags.number("--num-layers") * dense, self.flags.number("--num-layers") * experts
        return dense + self.embedding() + self.head(True), experts


def parameters_of(program, flags):
    """Of the whole model, without the padding of its vocabulary."""
    return sum(Model(program, flags, 1, is_padded=False).whole())


def stages_of(flags):
    """Blocks of each stage."""
    layers, groups = flags.number("--num-layers"), flags.number("--pipeline-model-parallel-size")
    if "--decoder-first-pipeline-num-layers" in flags:
        first, last = flags.number("--decoder-first-pipeline-num-layers"), flags.number("--decoder-last-pipeline-num-layers")
        return [first] + [(layers - first - last) // (groups - 2)] * (groups - 2) + [last]
    if "--pipeline-model-parallel-layout" in flags:
        parts = flags["--pipeline-model-parallel-layout"].split("|")
        return [sum(int(count) for count in re.findall(r"t\*(\d+)", part)) for part in parts]
    assert layers % groups == 0
    return [layers // groups] * groups


def rank_of(program, flags, ranks):
    """For each stage what one of its ranks has: what all replicas have in common, and experts; and by how many ranks each is kept."""
    tensor, groups = flags.number("--tensor-model-parallel-size"), flags.number("--pipeline-model-parallel-size")
    expert_parallel = flags.number("--expert-model-parallel-size", 1)
    expert_tensor = flags.number("--expert-tensor-parallel-size", tensor)
    here = flags.number("--num-experts") // expert_parallel if "--num-experts" in flags else 0
    model = Model(program, flags, tensor, here, expert_tensor)
    replicas, expert_replicas = ranks // (tensor * groups), ranks // (expert_tensor * groups * expert_parallel)
    if groups == 1:
        return [model.whole()], replicas, expert_replicas
    blocks, (dense, experts), all_stages = stages_of(flags), model.block(), []
    for stage, count in enumerate(blocks):
        ends = (model.embedding() if stage == 0 else 0) + (model.head(False) if stage + 1 == len(blocks) else 0)
        all_stages.append((count * dense + ends, count * experts))
    return all_stages, replicas, expert_replicas


def bytes_of(flags):
    """Of a weight, its gradient and its states, and whether replicas divide them."""
    strategy, is_divided = flags.get("--data-parallel-sharding-strategy", ""), "--use-distributed-optimizer" in flags
    half = "--bf16" in flags
    assert flags["--optimizer"] == "adam" and "--fp16" not in flags and "--fp8-format" not in flags
    gradient = 4 if not half or "--accumulate-allreduce-grads-in-fp32" in flags else 2
    return (("weights", 2 if half else 4, "params" in strategy), ("gradients", gradient, "grads" in strategy),
            ("optimizer_states", 12 if half else 8, is_divided))


def compare(script, plan, published):
    program, flags = flags_of(script)
    total = parameters_of(program, flags)
    if total != plan["parameters"]:
        sys.exit(f"{total} parameters by the arguments, {plan['parameters']} of the plan")
    if published is not None and total != published:
        sys.exit(f"{total} parameters by the arguments, {published} are published")
    match = re.search(r"--nnodes=(\d+) --nproc-per-node=(\d+)", script)
    ranks = int(match.group(1)) * int(match.group(2))
    stages, replicas, expert_replicas = rank_of(program, flags, ranks)
    if len(stages) != len(plan["stages"]):
        sys.exit(f"{len(stages)} stages by the arguments, {len(plan['stages'])} of the plan")
    stated = re.findall(r"# (\d+) parameters (more|fewer) than planned on each device of the (first|last) stage", script)
    for number, way, where in stated:
        at = 0 if where == "first" else -1
        stages[at] = (stages[at][0] - int(number) * (1 if way == "more" else -1), stages[at][1])
    for stage, ((dense, experts), planned) in enumerate(zip(stages, plan["stages"])):
        for name, each, is_divided in bytes_of(flags):
            low = each * (dense + experts)
            slack = 0
            if is_divided:  # layer by layer, each rounded up to a byte
                low = each * dense // replicas + each * experts // expert_replicas
                slack = 2 * len(planned.get("layers", [])) + 2 * flags.number("--num-layers", 2 * 96)
            found = planned["memory"][f"{name}_bytes"]
            if not low <= found <= low + slack:
                sys.exit(f"stage {stage}: {dense} parameters and {experts} of experts, {low} bytes of {name} by the arguments, the plan "
                         f"has {found}")
    tensor = flags.number("--tensor-model-parallel-size")
    rows = Model(program, flags, tensor).rows
    but = "".join(f", but for {number} {way} on the {where} stage that are stated" for number, way, where in stated)
    return f"{total} parameters, {len(stages)} stages of {tensor} ranks, {rows} rows of {flags['--vocab-size']}: as planned{but}"


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        script = file.read()
    with open(sys.argv[2], encoding="utf8") as file:
        plan = json.load(file)
    print(compare(script, plan, int(sys.argv[3]) if len(sys.argv) > 3 else None))


if __name__ == "__main__":
    main()
