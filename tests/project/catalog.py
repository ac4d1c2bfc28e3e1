"""The ready jobs say what they are meant to: planned by the program, compared with the published
figures (MLPerf Storage's demand an accelerator, Aurora's table)."""
import glob
import json
import os
import subprocess
import sys

HAUL, SOURCE = os.environ["HAUL"], os.environ["HAUL_SOURCE"]


def plan(job, nodes, ranks_per_node):
    out = subprocess.run([HAUL, "plan", job, "--nodes", str(nodes), "--ranks-per-node", str(ranks_per_node),
                          "--json"], check=True, capture_output=True, text=True,
                         env={**os.environ, "HAUL_DATA": "/tmp"})
    return json.loads(out.stdout)


def train(planned):
    return next(p for p in planned["phases"] if p["kind"] == "train")


def near(what, value, wanted, tolerance=0.002):
    assert abs(value - wanted) <= tolerance * wanted, f"{what}: {value}, wanted {wanted}"


names = sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(SOURCE, "workloads/catalog/*.json")))
listed = subprocess.run([HAUL, "catalog"], check=True, capture_output=True, text=True).stdout
for name in names:
    with open(os.path.join(SOURCE, "workloads/catalog", name + ".json"), encoding="utf-8") as stream:
        assert json.load(stream)["name"] == name, name
    assert name in listed, f"{name} is not listed by haul catalog"
    plan(name, 1, 4)

# GB/s an accelerator that AU 100 % needs: batch * record / step.
for name, demand in (("unet3d_a100", 1.614e9), ("unet3d_h100", 3.177e9), ("unet3d_b200", 6.335e9)):
    phase = train(plan(name, 1, 8))
    assert phase["steps_per_epoch"] == 500 and phase["epochs"] == 5, phase
    near(name, phase["demand"]["bytes_per_second"], 8 * demand)

aurora = plan("unet3d_aurora", 512, 12)
phase = train(aurora)
assert aurora["ranks"] == 6144 and aurora["dataset"]["files"] == 4300800, aurora
assert phase["steps_per_epoch"] == 100, phase
near("Aurora bytes", aurora["dataset"]["bytes"], 573.44 * 2**40)
near("Aurora AU 100 %", phase["demand"]["bytes_per_second"], 67.611e12)
near("Aurora AU 90 %", phase["demand"]["at_target_bytes_per_second"], 60.850e12)
near("Aurora opens", phase["demand"]["opens_per_second"], 461e3)
print(f"{len(names)} jobs")
sys.exit(0)
