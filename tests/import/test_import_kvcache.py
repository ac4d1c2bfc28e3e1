# SPDX-License-Identifier: Apache-2.0
"""haul import kvcache: flags and config.yaml of MLPerf's key-value cache benchmark become a job that haul plans, what does not
map is listed with a reason, and what is wrong is refused."""
import json
import os
import subprocess
import sys
import tempfile

HAUL = os.environ["HAUL"]
GIB = 1 << 30
FLAGS = """log-level model num-users duration gpu-mem-gb num-gpus tensor-parallel cpu-mem-gb cache-dir generation-mode
performance-profile disable-multi-turn disable-prefix-caching enable-rag rag-num-docs enable-autoscaling autoscaler-mode
target-saturation use-burst-trace burst-trace-path trace-speedup replay-cycles validation-trace dataset-path max-conversations
output seed max-concurrent-allocs request-rate max-requests xlsx-output config storage-capacity-gb precondition
precondition-size-gb precondition-threads prefill-only decode-only io-trace-log enable-latency-tracing""".split()
CONFIG = """
user_templates:
  chatbot: {context_range: [600, 700], generation_range: [50, 60], think_time_range: [0.1, 0.2]}
qos_profiles:
  batch: {target_latency_p95_ms: 2000, priority: 1}
qos_distribution: {interactive_probability: 0.2, responsive_threshold: 0.6}
eviction: {target_usage_ratio: 0.7, max_evictions_min: 500, max_evictions_hard_cap: 600}
prefix_cache: {min_prefix_length: 50, system_prompt_hit_probability: 0.3}
conversation: {max_conversations: 1000, end_conversation_probability: 0.25}
decode: {batch_size: 16}
saturation_detection: {read_latency_p95_threshold_ms: 100}
model_configs:
  my.model: {name: mine, num_layers: 4, hidden_dim: 512, num_heads: 8, kv_heads: 2, dtype: bfloat16}
surprise: 1
"""


def run(*args):
    return subprocess.run([HAUL, *args], capture_output=True, text=True)


def imported(*args):
    r = run("import", "kvcache", *args)
    assert r.returncode == 0, r
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(r.stdout)
        planned = run("plan", path)
        assert planned.returncode == 0, planned
    job = json.loads(r.stdout)
    return job, job["phases"][0]["kvcache"], " ".join(r.stderr.split())


def refused(says, *args):
    r = run("import", "kvcache", *args)
    assert r.returncode != 0 and says in r.stderr, r


# MLPerf's second option.
job, phase, _ = imported("num-users=100", "duration=300", "cpu-mem-gb=4", "max-concurrent-allocs=16", "generation-mode=none",
                         "cache-dir=/tmp/haul-none", "seed=43")
assert job["seed"] == 43 and job["stores"]["cache"]["uri"] == "file:///tmp/haul-none", job
assert phase["users"] == phase["threads"] == phase["served"] == 100 and phase["max_concurrent_allocs"] == 16, phase
assert phase["tiers"] == [{"kind": "cpu", "capacity": 4 * GIB}, {"store": "cache"}], phase
assert phase["model"] == "llama3.1-8b" and phase["duration"] == 300 and phase["generation"] == "none", phase

# What has several parts, and the original's defaults where a flag is left out.
_, phase, _ = imported("num-users=2000", "gpu-mem-gb=16", "num-gpus=8", "storage-capacity-gb=10", "precondition", "enable-rag",
                       "disable-multi-turn", "decode-only")
assert phase["threads"] == 500 and phase["generation"] == "realistic" and phase["duration"] == 60, phase
assert [t["capacity"] for t in phase["tiers"]] == [128 * GIB, 32 * GIB, 10 * GIB], phase
assert phase["precondition"] == 20 * GIB and phase["rag"]["documents"] == 10 and phase["rag"]["tokens_max"] == 12000, phase
assert phase["conversation"] == {"enabled": False} and phase["mode"] == "decode", phase

# Tensor ranks share what the original's process has.
job, phase, told = imported("num-users=100", "gpu-mem-gb=141", "num-gpus=8", "tensor-parallel=8", "cpu-mem-gb=64",
                            "storage-capacity-gb=80", "precondition")
assert job["cluster"] == {"ranks_per_node": 8, "gpus": 8, "tensor": 8} and "each rank moves its own" in " ".join(told.split()), job
assert [t["capacity"] for t in phase["tiers"]] == [141 * GIB, 8 * GIB, 10 * GIB], phase
assert phase["precondition"] == 20 * GIB and phase["users"] == 100, phase

# Recorded requests.
_, phase, told = imported("use-burst-trace", "burst-trace-path=/data/burst.csv", "trace-speedup=4")
assert phase["arrivals"] == {"file": "/data/burst.csv", "speed": 4, "cycles": 0} and "ranks share it" in told, phase
_, phase, told = imported("burst-trace-path=/data/burst.csv", "use-burst-trace", "trace-speedup=0", "replay-cycles=3")
assert phase["arrivals"] == {"file": "/data/burst.csv", "cycles": 3} and "recorded times" in told and "serves all of them" in told, phase
_, phase, told = imported("replay-cycles=3")
assert "arrivals" not in phase and "nothing to repeat" in told, told

# ShareGPT's conversations.
_, phase, told = imported("dataset-path=/data/share.json", "request-rate=20", "max-conversations=100", "sharegpt.max_context_tokens=8192",
                          "sharegpt.chars_per_token_estimate=3")
assert phase["arrivals"] == {"file": "/data/share.json", "rate": 20, "conversations": 100, "context_max": 8192, "generate_max": 2048,
                             "characters": 3, "cycles": 0}, phase
assert "reads earlier turns" in told and "haul takes them" in told, told
_, phase, told = imported("dataset-path=/data/share.json", "use-burst-trace", "enable-autoscaling")
assert phase["arrivals"]["rate"] == 1000 and phase["arrivals"]["conversations"] == 500 and "autoscaling" not in phase, phase
assert "reads no trace" in told and "no users to change" in told and "1,000 per second" in told, told
_, phase, told = imported("request-rate=20", "max-conversations=5", "trace-speedup=2")
assert "arrivals" not in phase and told.count("there is no dataset-path") == 2 and "without use-burst-trace" in told, told

# Autoscaling, with settings that the original does not use.
_, phase, told = imported("enable-autoscaling", "num-users=20", "autoscaler-mode=capacity", "target-saturation=0.7",
                          "autoscaler.max_users=10", "autoscaler.scale_up_factor=1.5", "autoscaler.consecutive_samples_required=4",
                          "saturation_detection.write_latency_p95_threshold_ms=30", "saturation_detection.history_window_size=6")
assert phase["autoscaling"] == {"mode": "capacity", "users_max": 20, "target": 0.7, "up": 1.5, "samples": 4, "write_p95": 0.03,
                                "history": 6}, phase
assert "changes no load; haul does" in told and told.count("decides nothing by it; haul does") == 4, told
_, phase, told = imported("autoscaler-mode=qos", "saturation_detection.history_window_size=6")
assert "autoscaling" not in phase and told.count("there is no enable-autoscaling") == 2, told
_, phase, told = imported("enable-autoscaling", "io-trace-log=/tmp/x.csv")
assert "autoscaling" not in phase and "no latencies to decide by" in told, told
# A trace has an accelerator of the original's 16 GiB, and its storage has no limit.
assert phase["tiers"][0] == {"kind": "gpu", "capacity": 16 << 30} and "storage-capacity-gb" not in told, (phase, told)

# The original counts no windows.
_, phase, _ = imported("model=gpt-oss-20b")
assert phase["model"] == {"name": "gpt-oss-20b", "window_layers": 0, "window": 0}, phase

# The time for a token of the chosen mode only.
_, phase, told = imported("generation-mode=fast", "generation_timing.fast=0.5", "generation_timing.realistic=7")
assert phase["token_time"] == 0.5 and "generation_timing.fast" in told, phase
assert phase["generation"] == "fast", phase

# Every flag is known, and each that does not map has a reason.
for flag in FLAGS:
    value = next((v for f, v in (("model", "tiny-1b"), ("generation-mode", "fast"), ("cache-dir", "/tmp/x"),
                                 ("performance-profile", "latency")) if f == flag), "1")
    for given in (value, "true", "text"):
        r = run("import", "kvcache", f"{flag}={given}")
        if r.returncode == 0:
            break
    assert r.returncode == 0 and "unknown to the benchmark" not in r.stderr, f"{flag}: {r}"

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "config.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG)
    _, phase, told = imported(path, "model=my.model")
    assert phase["model"] == {"layers": 4, "hidden": 512, "heads": 8, "kv_heads": 2, "type": "bf16"}, phase
    assert phase["templates"][0]["context_max"] == 700 and phase["templates"][1]["name"] == "coding", phase
    assert [round(c["share"], 9) for c in phase["classes"]] == [0.2, 0.4, 0.4] and phase["classes"][2]["p95"] == 2, phase
    assert phase["tiers"][0]["high"] == 0.7 and phase["decode_batch"] == 16 and phase["conversation"]["end"] == 0.25, phase
    assert phase["policy"] == {"evictions_min": 500, "evictions_max": 600}, phase
    for word in ("surprise", "unknown to the benchmark", "saturation_detection", "min_prefix_length"):
        assert word in told, f"{word}: {told}"
    with open(path, "w", encoding="utf-8") as f:
        f.write("decode: {batch_size: many}")
    refused("decode.batch_size: must be a number", path)
refused("num-users: must be a number", "num-users=many")
refused("user_templates.coding.context_range: must be two numbers", "user_templates.coding.context_range=[5,4]")
sys.exit(0)
