#!/usr/bin/env bash
# gpt3 on selene: tensor 8 (sequence), pipeline 8 x 3 virtual stages, data 16 (ZeRO 1); accord test
# Run on each of 128 servers with 8 devices: NODE_RANK=0 MASTER_ADDR=server0 ./torchrun.sh train.py ARGUMENTS
set -euo pipefail
# Ranks follow the order of the servers, because the plan does: hence numbers, not discovery.
: "${NODE_RANK:=${SLURM_NODEID:-}}"
: "${NODE_RANK:?number of this server, from 0 to 127}"
: "${MASTER_ADDR:?name or address of server 0}"
: "${MASTER_PORT:=29500}"
export ACCORD_TENSOR_PARALLEL="8"
export ACCORD_PIPELINE_PARALLEL="8"
export ACCORD_DATA_PARALLEL="16"
export ACCORD_SEQUENCE_PARALLEL="1"
export ACCORD_ZERO="1"
export ACCORD_MICROBATCH="1"
export ACCORD_MICROBATCHES="96"
export ACCORD_GLOBAL_BATCH="1536"
export ACCORD_SCHEDULE="interleaved"
export ACCORD_VIRTUAL_STAGES="3"
export ACCORD_STAGE_LAYERS="5 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 5"
# What has to be there, on each server, before anything starts; ACCORD_GUARD=off starts unchecked.
accord_guard || exit
exec torchrun --nnodes=128 --nproc-per-node=8 --node-rank="$NODE_RANK" \
  --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" \
  "$@"
