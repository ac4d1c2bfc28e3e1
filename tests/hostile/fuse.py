# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system that shows a folder, until it falls silent: then it takes no more requests, as one whose daemon is stopped.
It speaks with /dev/fuse itself, because no library for it is among the packages. Only root may mount it."""
import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import threading

MNT_DETACH = 2
BUFFER = 1 << 20
ATTR = struct.Struct("<6Q10I")
(LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, INIT,
 OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, ACCESS, CREATE, INTERRUPT, DESTROY, BATCH_FORGET, FALLOCATE, RENAME2) = (
     1, 2, 3, 4, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 26, 27, 28, 29, 30, 34, 35, 36, 38, 42, 43, 45)
NO_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
libc = ctypes.CDLL(None, use_errno=True)


def mount(point, fd):
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"haul-test", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def unmount(point):
    libc.umount2(os.fsencode(point), MNT_DETACH)


def can_mount():
    """Whether this user may, tried in a folder that nobody sees."""
    import tempfile
    point = tempfile.mkdtemp(prefix="haul-test-")
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
        try:
            mount(point, fd)
            unmount(point)
        finally:
            os.close(fd)
        return True
    except OSError:
        return False
    finally:
        os.rmdir(point)


class Fuse:
    """Mounts on a folder what the folder had. Where this user may not mount, the folder stays what it is."""

    def __init__(self, point):
        self.point, self.back, self.fd = point, point + ".behind", None
        self.paths, self.ids = {1: ""}, {"": 1}
        self.silent = threading.Event()

    def __enter__(self):
        if not can_mount():
            return self
        os.makedirs(self.point, exist_ok=True)
        os.rename(self.point, self.back)
        os.mkdir(self.point)
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        mount(self.point, self.fd)
        threading.Thread(target=self.serve, daemon=True).start()
        self.close_one_file()
        return self

    def __exit__(self, *_):
        if self.fd is None:
            return
        unmount(self.point)
        os.close(self.fd)  # ends each request that waits

    def close_one_file(self):
        """The kernel learns from its first FLUSH that there are none here. Who waits for an answer to one cannot be killed, by rules of
        the kernel."""
        path = f"{self.point}/.close"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        os.unlink(path)

    def fall_silent(self):
        """No further request is taken."""
        self.silent.set()

    def serve(self):
        with contextlib.suppress(OSError):  # it is no longer mounted
            while not self.silent.is_set():
                # Who waits for an answer to a request that was taken cannot be killed, by rules of the kernel, so none may be
                # taken and left.
                if select.select([self.fd], [], [], 0.05)[0]:
                    self.answer(os.read(self.fd, BUFFER + (1 << 16)))

    def answer(self, request):
        _, code, unique, node = struct.unpack_from("<IIQQ", request)
        if code in NO_ANSWER:
            return
        try:
            said, error = self.do(code, node, request[40:]), 0
        except OSError as e:
            said, error = b"", -e.errno
        os.write(self.fd, struct.pack("<IiQ", 16 + len(said), error, unique) + said)

    def path(self, node, name=None):
        below = self.paths[node]
        if name is not None:
            below = f"{below}/{os.fsdecode(name)}"
        return below

    def real(self, below):
        return self.back + below

    def attr(self, st):
        ns = 10 ** 9
        return ATTR.pack(st.st_ino, st.st_size, st.st_blocks, st.st_atime_ns // ns, st.st_mtime_ns // ns, st.st_ctime_ns // ns,
                         st.st_atime_ns % ns, st.st_mtime_ns % ns, st.st_ctime_ns % ns, st.st_mode, st.st_nlink, st.st_uid,
                         st.st_gid, 0, 4096, 0)

    def entry(self, below):
        st = os.lstat(self.real(below))
        if below not in self.ids:
            self.ids[below] = max(self.paths) + 1
            self.paths[self.ids[below]] = below
        return struct.pack("<4Q2I", self.ids[below], 0, 0, 0, 0, 0) + self.attr(st)

    def forget(self, below):
        """Its node stays for those who have it open."""
        self.ids.pop(below, None)

    def move(self, old, new):
        self.forget(new)
        for node, below in list(self.paths.items()):
            if (below == old or below.startswith(old + "/")) and self.ids.get(below) == node:
                self.ids.pop(below)
                self.paths[node] = new + below[len(old):]
                self.ids[self.paths[node]] = node
        os.rename(self.real(old), self.real(new))

    def set_attr(self, node, body):
        valid, _, fh, size, _, at, mt, _, atn, mtn, _, mode = struct.unpack_from("<IIQQQQQQIIII", body)
        real = self.real(self.paths[node])
        if valid & 8:
            os.truncate(fh if valid & 64 else real, size)
        if valid & 1:
            os.chmod(real, stat.S_IMODE(mode))
        if valid & 32:
            ns = 10 ** 9
            os.utime(real, ns=(at * ns + atn if valid & 16 else mt * ns + mtn, mt * ns + mtn))

    def folder(self, below, at):
        names = [".", "..", *sorted(os.listdir(self.real(below)))]
        page = b""
        for i, name in list(enumerate(names))[at:]:
            raw = os.fsencode(name)
            kind = stat.S_IFMT(os.lstat(f"{self.real(below)}/{name}").st_mode) >> 12
            one = struct.pack("<QQII", i + 1, i + 1, len(raw), kind) + raw
            one += b"\0" * (-len(one) % 8)
            if len(page) + len(one) > 4096:
                break
            page += one
        return page

    def do(self, code, node, body):
        names = body.split(b"\0")
        flags = struct.unpack_from("<I", body)[0] if len(body) >= 4 else 0
        fh, at, size = struct.unpack_from("<QQI", body) if len(body) >= 20 else (0, 0, 0)
        if code == INIT:
            return struct.pack("<4IHHIIHHI7I", 7, 31, 1 << 17, 1 << 5, 12, 10, 1 << 17, 1, 0, 0, 0, *[0] * 7)
        if code == LOOKUP:
            return self.entry(self.path(node, names[0]))
        if code == GETATTR:
            # By the descriptor, where there is one: what it is of may have been removed.
            st = os.fstat(struct.unpack_from("<Q", body, 8)[0]) if flags & 1 else os.lstat(self.real(self.paths[node]))
            return struct.pack("<QII", 0, 0, 0) + self.attr(st)
        if code == SETATTR:
            self.set_attr(node, body)
            return struct.pack("<QII", 0, 0, 0) + self.attr(os.lstat(self.real(self.paths[node])))
        if code in (OPEN, OPENDIR):
            if code == OPENDIR:
                return struct.pack("<QII", 0, 0, 0)
            flags &= ~(os.O_CREAT | os.O_EXCL | os.O_DIRECT | os.O_NOFOLLOW)
            return struct.pack("<QII", os.open(self.real(self.paths[node]), flags), 0, 0)
        if code == CREATE:
            below = self.path(node, body[16:].split(b"\0")[0])
            mode = struct.unpack_from("<I", body, 4)[0]
            fd = os.open(self.real(below), flags & ~os.O_DIRECT | os.O_CREAT, stat.S_IMODE(mode))
            self.forget(below)
            return self.entry(below) + struct.pack("<QII", fd, 0, 0)
        if code == MKDIR:
            below = self.path(node, body[8:].split(b"\0")[0])
            os.mkdir(self.real(below), stat.S_IMODE(flags))
            self.forget(below)
            return self.entry(below)
        if code == READ:
            return os.pread(fh, size, at)
        if code == WRITE:
            return struct.pack("<II", os.pwrite(fh, body[40:40 + size], at), 0)
        if code == READDIR:
            return self.folder(self.paths[node], at)
        if code == STATFS:
            s = os.statvfs(self.back)
            return struct.pack("<5Q4I6I", s.f_blocks, s.f_bfree, s.f_bavail, s.f_files, s.f_ffree, s.f_bsize, 255, s.f_frsize, 0,
                               *[0] * 6)
        return self.do_rarer(code, node, body, names, fh)

    def do_rarer(self, code, node, body, names, fh):
        if code in (UNLINK, RMDIR):
            below = self.path(node, names[0])
            (os.unlink if code == UNLINK else os.rmdir)(self.real(below))
            self.forget(below)
        elif code in (RENAME, RENAME2):
            first = 8 if code == RENAME else 16
            old, new = body[first:].split(b"\0")[:2]
            if code == RENAME2 and struct.unpack_from("<I", body, 8)[0]:
                raise OSError(errno.EINVAL, "flags of a rename")
            self.move(self.path(node, old), self.path(fh if len(body) >= 20 else struct.unpack_from("<Q", body)[0], new))
        elif code == LINK:
            below = self.path(node, body[8:].split(b"\0")[0])
            os.link(self.real(self.paths[struct.unpack_from("<Q", body)[0]]), self.real(below))
            self.forget(below)
            return self.entry(below)
        elif code in (FSYNC, RELEASE):
            (os.fsync if code == FSYNC else os.close)(struct.unpack_from("<Q", body)[0])
        elif code == FALLOCATE:
            handle, at, size, mode = struct.unpack_from("<QQQI", body)
            if mode:
                raise OSError(errno.EOPNOTSUPP, "mode of fallocate")
            os.posix_fallocate(handle, at, size)
        elif code not in (RELEASEDIR, FSYNCDIR, ACCESS, DESTROY):
            # FLUSH among them: where a daemon takes it, the kernel sends one for each open file of a process that ends, and
            # lets nobody end that wait, so no process with an open file can be ended once the daemon is stopped.
            raise OSError(errno.ENOSYS, "not made")
        return b""
