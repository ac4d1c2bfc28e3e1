# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a distributed checkpoint tell each other: how many messages, of which bytes, and for how long."""
import enum
import glob
import os
import pickle
import re
import shutil
import sys
import types

from haultest import *
from test_distributed import job, load, run

CALLS = sys.argv.pop(1)


def sent(folder, ranks, collectives, count, calls, slow=0, layout="dcp"):
    """How often all ranks gathered and scattered, the bytes of that, and its time by MPI's interface; and the run's measures."""
    shutil.rmtree(f"{folder}/data", ignore_errors=True)
    shutil.rmtree(f"{folder}/calls", ignore_errors=True)
    os.makedirs(f"{folder}/calls")
    write_job(folder, job(folder, {"mesh": {"zero": 3}, "count": count, "layout": layout, **({"collectives": collectives} if layout == "dcp" else {})}))
    r = mpi(ranks, "run", "job.json", "--force", cwd=folder,
            env={"LD_PRELOAD": calls, "HAUL_MPI_CALLS": f"{folder}/calls", "HAUL_MPI_SLOW_MS": str(slow)})
    check(r.rc == 0, f"{collectives}: {r}")
    found = {"Igather": [0, 0], "Iscatter": [0, 0], "all": [0, 0]}
    for path in glob.glob(f"{folder}/calls/rank.*"):
        for name, n, bytes in (line.split() for line in open(path)):
            for of in {name, "all"} & set(found):
                found[of][0] += int(n)
                found[of][1] += int(bytes)
    found["ns"] = sum(int(open(path).read()) for path in glob.glob(f"{folder}/calls/times.*"))
    return found, report(f"{folder}/results.h5")["phases"][0]["measures"]


def kept_alone(last):
    """The metadata of each rank, in files of their own, has the items of its own file."""
    check({n for n in os.listdir(last) if n.endswith("metadata")} == {f"__{i}.metadata" for i in range(4)}, f"{os.listdir(last)}")
    for i in range(4):
        kept = load(f"{last}/__{i}.metadata").storage_data.values()
        check({v.relative_path for v in kept} == {f"__{i}_0.distcp"}, f"rank {i}")
        check(sum(v.length for v in kept) == os.path.getsize(f"{last}/__{i}_0.distcp"), f"rank {i}")


def test_messages():
    """Each further save gathers twice and scatters once; with cached plans it gathers once; without collectives nothing is
    sent, and each rank's metadata has its own items. The bytes are those of the longest pickle."""
    with Folder() as folder:
        own = 0  # the bytes of haul's own messages
        for collectives, gathers, scatters in (("none", 0, 0), ("cached", 1, 0), ("all", 2, 1)):
            (one, _), (three, m) = (sent(folder, 4, collectives, count, CALLS) for count in (1, 3))
            more = [(three[k][0] - one[k][0]) / 2 / 4 for k in ("Igather", "Iscatter")]
            check(more == [gathers, scatters], f"{collectives}: {more} of each save")
            plans = {"all": 3, "cached": 1, "none": 0}[collectives]
            results = 0 if collectives == "none" else 3
            check(m["collectives"] == 2 * plans + results, f"{collectives}: {m['collectives']}")
            moved = sum(three[k][1] - one[k][1] for k in ("Igather", "Iscatter"))
            if collectives == "none":
                own = moved
                # No message at all but haul's own: as many as in a layout that has no protocol, and one agreement that old metadata is gone.
                (plain, _), (more, _) = (sent(folder, 4, "none", count, CALLS, layout="distributed") for count in (1, 3))
                check(abs((three["all"][0] - one["all"][0]) - (more["all"][0] - plain["all"][0]) - 2 * 4) < 2,
                      f"{three['all'][0] - one['all'][0]} messages, {more['all'][0] - plain['all'][0]} of haul")
                sent(folder, 4, "none", 3, CALLS)
                kept_alone(f"{folder}/data/checkpoints/000002")
            if collectives == "all":
                # Each message is counted where it is sent and where it comes; the coordinator's own counts, too.
                check(abs(moved - own - 2 * m["collective_bytes"] * 2 / 3) < 0.02 * moved, f"{moved}, {own} of haul, {m['collective_bytes']}")


def torchs_classes():
    """The classes of torch's planner, as stand-ins with torch's own names."""
    of = {"torch": "Size", "torch.serialization": "", "torch.distributed": "", "torch.distributed.checkpoint": "",
          "torch.distributed.checkpoint.metadata": "MetadataIndex ChunkStorageMetadata TensorProperties",
          "torch.distributed.checkpoint.planner": "SavePlan WriteItem TensorWriteData",
          "torch.distributed.checkpoint.storage": "WriteResult", "torch.distributed.checkpoint.filesystem": "_StorageInfo"}
    made = {}
    for module, names in of.items():
        sys.modules[module] = types.ModuleType(module)
        for name in names.split():
            cls = type(name, (tuple,) if name == "Size" else (), {"__module__": module, "__reduce__": lambda self: (type(self), (tuple(self),))}
                       if name == "Size" else {"__module__": module})
            setattr(sys.modules[module], name, cls)
            made[name] = cls
    planner = sys.modules["torch.distributed.checkpoint.planner"]
    planner.WriteItemType = made["WriteItemType"] = enum.Enum("WriteItemType", "TENSOR SHARD BYTE_IO", module=planner.__name__)
    metadata = sys.modules["torch.distributed.checkpoint.metadata"]
    metadata._MEM_FORMAT_ENCODING = made["_MEM_FORMAT_ENCODING"] = enum.Enum(
        "_MEM_FORMAT_ENCODING", {"TORCH_CONTIGUOUS_FORMAT": 0}, module=metadata.__name__)
    made["TensorProperties"].__getstate__ = lambda self: (self.dtype, self.layout, self.requires_grad, self.memory_format, self.pin_memory)
    sys.modules["torch"].float16 = made["dtype"] = Dtype()
    return made


class Dtype:
    def __reduce__(self):
        return "float16"


Dtype.__module__ = "torch"


def made(cls, **fields):
    x = cls.__new__(cls)
    x.__dict__.update(fields)
    return x


def messages_by_hand(folder, ranks):
    """The bytes of the longest plan and of the longest list of results, pickled by Python, of the checkpoint that is there."""
    m = load(f"{folder}/data/checkpoints/000000/.metadata")
    of = torchs_classes()
    size = of["Size"]
    plans, results = [[] for _ in range(ranks)], [[] for _ in range(ranks)]
    paths, names = {}, {name: name for name in m.state_dict_metadata}
    for k, v in sorted(m.storage_data.items(), key=lambda x: (x[1].relative_path, x[1].offset)):
        t = m.state_dict_metadata[k.fqn]
        c = next(c for c in t.chunks if c.offsets == k.offset)
        rank = int(re.match(r"__(\d+)_", v.relative_path)[1])
        properties = made(of["TensorProperties"], dtype=of["dtype"], layout="strided", requires_grad=False,
                          memory_format=of["_MEM_FORMAT_ENCODING"](0), pin_memory=False)
        plans[rank].append(made(of["WriteItem"], index=made(of["MetadataIndex"], fqn=names[k.fqn], offset=size(k.offset), index=None),
                                type=of["WriteItemType"].SHARD, bytes_io_data=None,
                                tensor_data=made(of["TensorWriteData"], chunk=made(of["ChunkStorageMetadata"], offsets=size(c.offsets),
                                                                                   sizes=size(c.sizes)),
                                                 properties=properties, size=size(t.size))))
        results[rank].append(made(of["WriteResult"], index=made(of["MetadataIndex"], fqn=k.fqn, offset=size(k.offset), index=k.index),
                                  size_in_bytes=v.length,
                                  storage_data=made(of["_StorageInfo"], relative_path=paths.setdefault(v.relative_path, v.relative_path), offset=v.offset,
                                                    length=v.length, transform_descriptors=None)))
    mapping = {name: (name,) for name in m.state_dict_metadata}
    plans = [made(of["SavePlan"], items=x, storage_data=None, planner_data=mapping, usable=True) for x in plans]
    for name in [n for n in sys.modules if n.split(".")[0] == "torch"]:
        of[name] = sys.modules[name]
    longest = [max(len(pickle.dumps(x, 4)) for x in all) for all in (plans, results)]
    for name in [n for n in sys.modules if n.split(".")[0] == "torch"]:
        del sys.modules[name]
    return longest


def test_bytes_of_messages():
    """A save sends what Python's own pickler makes of the same plans and results: gathered and scattered, each as long as the longest."""
    for ranks, mesh, model in ((4, {"zero": 3}, "dense"), (8, {"zero": 3, "tensor": 2}, "experts")):
        with Folder() as folder:
            write_job(folder, job(folder, {"mesh": mesh}, model=model))
            r = run(folder, ranks)
            check(r.rc == 0, f"{r}")
            plan, result = messages_by_hand(folder, ranks)
            bytes = report(f"{folder}/results.h5")["phases"][0]["measures"]["collective_bytes"]
            expected = ranks * (2 * plan + result)
            check(abs(bytes - expected) < 0.02 * expected, f"{ranks}: {bytes} sent, {expected} by hand ({plan}, {result})")


@timing
def test_account_is_what_mpi_measured():
    """The account has the time of gathers and scatters from their call to their end, as MPI's profiling interface sees it."""
    with Folder() as folder:
        own, m = sent(folder, 4, "none", 3, CALLS, slow=50)
        check(m["collectives_ns"] == 0, f"{m['collectives_ns']} without collectives")
        for collectives, calls in (("all", 9), ("cached", 5)):
            found, m = sent(folder, 4, collectives, 3, CALLS, slow=50)
            check(m["collectives"] == calls, f"{m['collectives']}")
            measured = found["ns"] - own["ns"]
            check(measured > 4 * calls * 50e6, f"{measured} ns of {calls} calls that take 50 ms or more")
            near(m["collectives_ns"], measured, 0.02 * measured, f"{collectives}: the account")


if __name__ == "__main__":
    main()
