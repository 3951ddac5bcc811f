#!/usr/bin/env bash
#SBATCH --job-name=gpt3-job
#SBATCH --nodes=128
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=a100-80g:8
#SBATCH --exclusive
# gpt3 on selene: tensor 8 (sequence), pipeline 8 x 3 virtual stages, data 16 (ZeRO 1); accord test
# Groups: tensor parallel 8 in a server, data parallel 16 in 16 servers, pipeline parallel 8 in 128 servers.
# sbatch slurm.sh train.py ARGUMENTS
set -euo pipefail
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR="${hosts[0]}" MASTER_PORT="${MASTER_PORT:-29500}"
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
# shellcheck disable=SC2016
accord_guard'
srun --kill-on-bad-exit=1 sh -c "$guard"
# One torchrun on each server; each variable is that of its server.
# shellcheck disable=SC2016
srun --kill-on-bad-exit=1 bash -c 'exec torchrun --nnodes=128 --nproc-per-node=8 --node-rank="$SLURM_PROCID" --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" "$@"' torchrun "$@"
