"""Tries to get out, one attempt after another, each in a process of its own, and prints what came of
each: `name<TAB>reached`, or the error it met, or `skipped: why`. Run with a JSON object of places and
processes as its argument; run without a fence, the same attempts show that there is a way at all.
"""

import array, ctypes, errno, fcntl, json, os, platform, signal, socket, stat, struct, sys, time

GIVEN = json.loads(sys.argv[1])
OUT, WORK = GIVEN["outside"], GIVEN["workspace"]
SECRET = OUT + "/secret"
OFFSHOOT, HELPER, SHELL, VICTIM = GIVEN["offshoot"], os.getppid(), GIVEN["shell"], GIVEN["victim"]
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
ATTEMPTS = []

# Numbers of x86-64, and of the architectures that share one table.
NUMBERS = {
    "clone": (56, 220), "clone3": (435, 435), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "open_tree": (428, 428), "mount_setattr": (442, 442), "bpf": (321, 280),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "init_module": (175, 105), "kexec_load": (246, 104),
    "swapon": (167, 224), "acct": (163, 89), "prlimit64": (302, 261), "tkill": (200, 130),
    "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "fanotify_init": (300, 262), "mknodat": (259, 33),
    "shmat": (30, 196), "reboot": (169, 142), "kcmp": (312, 272),
}


def attempt(function):
    ATTEMPTS.append(function)
    return function


class Skip(Exception):
    pass


def call(name, *arguments, flag=0):
    """A system call by its number; its error as an exception."""
    number = NUMBERS[name][0 if X86 else 1] | flag
    given = [argument if isinstance(argument, bytes) else ctypes.c_long(argument) for argument in arguments]
    ctypes.set_errno(0)
    answer = LIBC.syscall(ctypes.c_long(number), *given)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


def text(string):
    return ctypes.create_string_buffer(string.encode())


def entered(name, *arguments, flag=0):
    """Makes a call that no arguments make sense for. That it was looked at is enough."""
    try:
        call(name, *arguments, flag=flag)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            raise
    return True


# Files and folders.

@attempt
def read_a_file():
    return open(SECRET).read()

@attempt
def read_with_dots():
    return open(WORK + "/../" + os.path.basename(OUT) + "/secret").read()

@attempt
def read_through_a_link():
    return open(WORK + "/link-to-secret").read()

@attempt
def read_through_a_chain_of_links():
    return open(WORK + "/chain").read()

@attempt
def read_through_a_linked_folder():
    return open(WORK + "/link-to-outside/secret").read()

@attempt
def read_through_a_new_link():
    os.symlink(SECRET, WORK + "/new-link")
    return open(WORK + "/new-link").read()

@attempt
def read_through_the_working_folder_in_proc():
    return open("/proc/self/cwd/../" + os.path.basename(OUT) + "/secret").read()

@attempt
def read_through_the_root_in_proc():
    return open("/proc/self/root" + SECRET).read()

@attempt
def read_through_the_root_of_the_first_process():
    return open("/proc/1/root" + SECRET).read()

@attempt
def read_from_a_working_folder_outside():
    os.chdir(OUT)
    return open("secret").read()

@attempt
def list_a_folder():
    return os.listdir(OUT)

@attempt
def list_a_linked_folder():
    return os.listdir(WORK + "/link-to-outside")

@attempt
def list_the_root():
    return os.listdir("/")

@attempt
def write_a_file():
    open(SECRET, "r+").write("x")
    return True

@attempt
def append_to_a_file():
    open(SECRET, "a").write("x")
    return True

@attempt
def truncate_a_file():
    os.truncate(SECRET, 0)
    return True

@attempt
def write_through_a_link():
    open(WORK + "/link-to-secret", "a").write("x")
    return True

@attempt
def create_a_file():
    open(OUT + "/new", "w")
    return True

@attempt
def create_through_a_linked_folder():
    open(WORK + "/link-to-outside/new", "w")
    return True

@attempt
def create_a_folder():
    os.mkdir(OUT + "/new-folder")
    return True

@attempt
def create_a_link():
    os.symlink("/", OUT + "/new-link")
    return True

@attempt
def create_a_fifo():
    os.mkfifo(OUT + "/new-fifo")
    return True

@attempt
def remove_a_file():
    os.unlink(OUT + "/removable")
    return True

@attempt
def remove_a_folder():
    os.rmdir(OUT + "/empty")
    return True

@attempt
def rename_outside():
    os.rename(OUT + "/renamable", OUT + "/renamed")
    return True

@attempt
def move_something_out():
    os.rename(WORK + "/mine", OUT + "/mine")
    return True

@attempt
def move_something_in():
    os.rename(OUT + "/movable", WORK + "/movable")
    return True

@attempt
def hard_link_something_in():
    os.link(SECRET, WORK + "/hard-link")
    return open(WORK + "/hard-link").read()

@attempt
def hard_link_something_out():
    os.link(WORK + "/mine-too", OUT + "/hard-link")
    return True

@attempt
def run_a_program():
    os.execv(OUT + "/program", ["program"])

@attempt
def create_in_tmp():
    open("/tmp/offshoot-escape-%d" % VICTIM, "w")
    return True

@attempt
def create_in_shared_memory():
    path = "/dev/shm/offshoot-escape-%d" % VICTIM
    open(path, "w")
    # A place of its own is looked at by whoever started this.
    return not GIVEN["own_shared_memory"]

@attempt
def write_to_etc():
    open("/etc/offshoot-escape", "w")
    return True

@attempt
def read_shadow():
    return open("/etc/shadow").read(1) if os.path.exists("/etc/shadow") else skip("no /etc/shadow")

@attempt
def read_a_block_device():
    for name in os.listdir("/dev") if GIVEN["control"] else GIVEN["devices"]:
        if stat.S_ISBLK(os.stat("/dev/" + name).st_mode):
            return os.read(os.open("/dev/" + name, os.O_RDONLY), 1)
    skip("no block device")

@attempt
def open_a_hypervisor():
    os.path.exists("/dev/kvm") or skip("no /dev/kvm")
    return os.open("/dev/kvm", os.O_RDWR)

@attempt
def read_memory_of_the_machine():
    os.path.exists("/dev/mem") or skip("no /dev/mem")
    return os.open("/dev/mem", os.O_RDONLY)

@attempt
def write_a_kernel_setting():
    path = "/proc/sys/kernel/hostname"
    name = open(path).read()
    open(path, "w").write(name)
    return True

@attempt
def open_by_handle():
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]
    handle, mount, path = Handle(size=128), ctypes.c_int(), text(SECRET)
    call("name_to_handle_at", -100, ctypes.addressof(path), ctypes.addressof(handle),
         ctypes.addressof(mount), 0)
    return call("open_by_handle_at", os.open(WORK, os.O_RDONLY), ctypes.addressof(handle), 0)

@attempt
def make_a_character_device():
    os.mknod(WORK + "/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return True

@attempt
def make_a_block_device():
    os.mknod(WORK + "/disk", 0o666 | stat.S_IFBLK, os.makedev(8, 0))
    return True

@attempt
def use_an_inherited_descriptor():
    mine = os.open("/dev/null", os.O_RDONLY)
    return [number for number in range(3, 256) if number not in GIVEN["open"] and is_open(number) and number != mine]

def is_open(number):
    try:
        return fcntl.fcntl(number, fcntl.F_GETFD) >= 0
    except OSError:
        return False


# Networks and sockets.

def inet(kind, port, family=socket.AF_INET, address="127.0.0.1"):
    with socket.socket(family, kind) as it:
        it.settimeout(1)
        it.connect((address, port))
        it.send(b"knock")
        # A datagram that is refused says so at the next call.
        time.sleep(0.05)
        it.send(b"knock")
        return True

@attempt
def reach_a_server():
    return inet(socket.SOCK_STREAM, GIVEN["tcp"])

@attempt
def reach_a_server_by_datagram():
    return inet(socket.SOCK_DGRAM, GIVEN["udp"])

@attempt
def reach_a_server_by_ipv6():
    GIVEN["tcp6"] or skip("no IPv6 here")
    return inet(socket.SOCK_STREAM, GIVEN["tcp6"], socket.AF_INET6, "::1")

@attempt
def reach_a_server_by_multipath():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as it:
        it.settimeout(1)
        it.connect(("127.0.0.1", GIVEN["tcp"]))
        return True

@attempt
def reach_the_world():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.connect(("192.0.2.1", 9))
        return True

@attempt
def open_a_raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

@attempt
def open_a_packet_socket():
    return socket.socket(17, socket.SOCK_RAW, 0)

@attempt
def open_netlink_for_devices():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)

@attempt
def open_netlink_for_anything():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)

@attempt
def open_a_vsock():
    return socket.socket(40, socket.SOCK_STREAM)

@attempt
def open_the_kernels_cryptography():
    return socket.socket(38, socket.SOCK_SEQPACKET)

def connect(family, kind, address):
    with socket.socket(family, kind) as it:
        it.connect(address)
        return True

@attempt
def reach_a_local_socket_outside():
    return connect(socket.AF_UNIX, socket.SOCK_STREAM, OUT + "/socket")

@attempt
def reach_a_local_socket_in_the_workspace():
    return connect(socket.AF_UNIX, socket.SOCK_STREAM, WORK + "/socket")

@attempt
def reach_a_local_datagram_socket():
    return connect(socket.AF_UNIX, socket.SOCK_DGRAM, OUT + "/datagrams")

@attempt
def reach_an_abstract_socket():
    return connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + GIVEN["abstract"])

def through_a_pair(kind, use):
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    use(one)
    return True

@attempt
def send_from_a_pair_of_datagrams():
    return through_a_pair(socket.SOCK_DGRAM, lambda it: it.sendto(b"x", OUT + "/datagrams"))

@attempt
def connect_a_pair_of_datagrams():
    return through_a_pair(socket.SOCK_DGRAM, lambda it: it.connect(OUT + "/datagrams"))

@attempt
def send_from_a_pair_of_raw_sockets():
    return through_a_pair(socket.SOCK_RAW, lambda it: it.sendto(b"x", OUT + "/datagrams"))

@attempt
def connect_a_pair_of_raw_sockets():
    return through_a_pair(socket.SOCK_RAW, lambda it: it.connect(OUT + "/datagrams"))

@attempt
def connect_a_pair_of_streams():
    return through_a_pair(socket.SOCK_STREAM, lambda it: it.connect(OUT + "/socket"))

@attempt
def connect_a_pair_of_packets():
    return through_a_pair(socket.SOCK_SEQPACKET, lambda it: it.connect(OUT + "/packets"))

@attempt
def connect_half_a_pair_of_streams():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    other.close()
    one.connect(OUT + "/socket")
    return True


# Other processes.

def is_alive(process):
    try:
        return open("/proc/%d/stat" % process).read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False

@attempt
def signal_offshoot():
    os.kill(OFFSHOOT, 0)
    return True

@attempt
def signal_the_helper():
    os.kill(HELPER, 0)
    return True

@attempt
def signal_the_launching_shell():
    os.kill(SHELL, 0)
    return True

@attempt
def signal_offshoots_group():
    os.kill(-GIVEN["group"], 0)
    return True

@attempt
def signal_a_thread_of_offshoot():
    for thread in os.listdir("/proc/%d/task" % OFFSHOOT):
        try:
            os.kill(int(thread), 0)
            return True
        except PermissionError as error:
            refused = error
    raise refused

@attempt
def signal_by_thread():
    call("tkill", OFFSHOOT, 0)
    return True

@attempt
def signal_by_process_and_thread():
    call("tgkill", OFFSHOOT, OFFSHOOT, 0)
    return True

@attempt
def queue_a_signal():
    info = ctypes.create_string_buffer(struct.pack("iii", 0, 0, -1) + bytes(116))
    call("rt_sigqueueinfo", OFFSHOOT, 0, ctypes.addressof(info))
    return True

@attempt
def signal_by_handle():
    call("pidfd_send_signal", call("pidfd_open", OFFSHOOT, 0), 0, 0, 0)
    return True

@attempt
def signal_by_folder_in_proc():
    call("pidfd_send_signal", os.open("/proc/%d" % OFFSHOOT, os.O_RDONLY), 0, 0, 0)
    return True

@attempt
def attach_shared_memory_by_number():
    try:
        call("shmat", GIVEN["segment"], 0, 4096)
        return True
    except OSError as error:
        # In a namespace of its own there is no segment of that number.
        if error.errno == errno.EINVAL and not GIVEN["own_shared_memory"]:
            return True
        raise

@attempt
def kill_a_stranger():
    os.kill(VICTIM, signal.SIGKILL)
    time.sleep(0.1)
    return not is_alive(VICTIM)

@attempt
def signal_as_owner_of_a_descriptor():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    fcntl.fcntl(one, fcntl.F_SETOWN, GIVEN["second_victim"])
    fcntl.fcntl(one, 10, signal.SIGKILL)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    other.send(b"x")
    time.sleep(0.2)
    if is_alive(GIVEN["second_victim"]):
        raise PermissionError(errno.EPERM, "it lives")
    return True

def limits_of(process):
    limits = ctypes.create_string_buffer(16)
    call("prlimit64", process, 0, 0, ctypes.addressof(limits))
    call("prlimit64", process, 0, ctypes.addressof(limits), 0)
    return True

@attempt
def set_the_limits_of_offshoot():
    return limits_of(OFFSHOOT)

@attempt
def set_the_limits_of_the_helper():
    return limits_of(HELPER)

def attach(process):
    call("ptrace", 0x4206, process, 0, 0)
    return True

@attempt
def trace_offshoot():
    return attach(OFFSHOOT)

@attempt
def trace_the_helper():
    return attach(HELPER)

@attempt
def trace_a_stranger():
    return attach(GIVEN["stranger"])

@attempt
def read_anothers_memory():
    class Piece(ctypes.Structure):
        _fields_ = [("start", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    own = ctypes.create_string_buffer(8)
    mine, theirs = Piece(ctypes.addressof(own), 8), Piece(int(GIVEN["address"], 16), 8)
    return call("process_vm_readv", GIVEN["stranger"], ctypes.addressof(mine), 1, ctypes.addressof(theirs), 1, 0)

@attempt
def take_anothers_descriptor():
    return call("pidfd_getfd", call("pidfd_open", GIVEN["stranger"], 0), 0, 0)

def in_proc(process, name):
    with open("/proc/%d/%s" % (process, name), "rb") as it:
        return it.read(1)

@attempt
def read_offshoots_environment():
    return in_proc(OFFSHOOT, "environ")

@attempt
def read_the_helpers_environment():
    return in_proc(HELPER, "environ")

@attempt
def read_the_launching_shells_environment():
    return in_proc(SHELL, "environ")

@attempt
def read_a_strangers_environment():
    return in_proc(GIVEN["stranger"], "environ")

@attempt
def read_offshoots_map():
    return in_proc(OFFSHOOT, "maps")

@attempt
def open_offshoots_memory():
    return os.open("/proc/%d/mem" % OFFSHOOT, os.O_RDONLY)

@attempt
def see_what_offshoot_has_open():
    # Root may list the numbers; not what they stand for.
    return os.readlink("/proc/%d/fd/0" % OFFSHOOT)

@attempt
def see_what_the_helper_has_open():
    return os.readlink("/proc/%d/fd/0" % HELPER)

@attempt
def open_what_offshoot_has_open():
    return os.open("/proc/%d/fd/%d" % (OFFSHOOT, GIVEN["secret_descriptor"]), os.O_RDONLY)

@attempt
def follow_offshoots_working_folder():
    return os.listdir("/proc/%d/cwd" % OFFSHOOT)


# The kernel.

NEW_USER, NEW_NAMES, NEW_NETWORK, NEW_MOUNTS = 0x10000000, 0x04000000, 0x40000000, 0x00020000

@attempt
def unshare_users():
    call("unshare", NEW_USER)
    return True

@attempt
def unshare_users_by_x32():
    X86 or skip("not on x86-64")
    call("unshare", NEW_USER, flag=1 << 30)
    return True

@attempt
def unshare_mounts():
    call("unshare", NEW_MOUNTS)
    return True

@attempt
def clone_with_new_users():
    child = call("clone", NEW_USER | signal.SIGCHLD, 0, 0, 0, 0)
    child or os._exit(0)
    return True

@attempt
def clone_by_structure():
    return entered("clone3", 0, 0)

@attempt
def call_for_32_bits():
    X86 or skip("not on x86-64")
    import mmap
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid); int 0x80; ret
    code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")
    start = ctypes.addressof(ctypes.c_char.from_buffer(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(start)() > 0

@attempt
def join_a_namespace():
    # Its own; a refusal that depends on which one is another's.
    call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0)
    return True

@attempt
def change_the_root():
    path = text(WORK)
    call("chroot", ctypes.addressof(path))
    return True

@attempt
def type_into_a_terminal():
    try:
        terminal = os.openpty()[1]
    except OSError:
        # Without one, the refusal still has to come before the question what this is.
        terminal = 0
    fcntl.ioctl(terminal, 0x5412, b"x")
    return True

@attempt
def paste_into_a_terminal():
    fcntl.ioctl(0, 0x541C, b"\x03")
    return True

@attempt
def keep_capabilities():
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    if all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")):
        raise PermissionError(errno.EPERM, "none")
    return True

@attempt
def gain_privileges_by_running_something():
    if LIBC.prctl(39, 0, 0, 0, 0) == 1:
        raise PermissionError(errno.EPERM, "no_new_privs")
    return True


def kernel(name, *arguments):
    def tries():
        return entered(name, *arguments)
    tries.__name__ = "call_" + name
    ATTEMPTS.append(tries)

for name, *arguments in [
    ("mount", 0, 0, 0, 0, 0), ("umount2", 0, 0), ("pivot_root", 0, 0), ("move_mount", -1, 0, -1, 0, 0),
    ("fsopen", 0, 0), ("fsconfig", -1, 0, 0, 0, 0), ("fsmount", -1, 0, 0), ("fspick", -1, 0, 0),
    ("open_tree", -1, 0, 0), ("mount_setattr", -1, 0, 0, 0, 0), ("bpf", 0, 0, 0),
    ("perf_event_open", 0, 0, -1, -1, 0), ("keyctl", 0, -3, 0, 0, 0), ("add_key", 0, 0, 0, 0, 0),
    ("request_key", 0, 0, 0, 0), ("userfaultfd", 0), ("open_by_handle_at", -1, 0, 0),
    ("io_uring_setup", 1, 0), ("io_uring_enter", -1, 0, 0, 0, 0, 0), ("io_uring_register", -1, 0, 0, 0),
    ("init_module", 0, 0, 0), ("kexec_load", 0, 0, 0, 0), ("swapon", 0, 0),
    ("fanotify_init", 0, 0), ("reboot", 0, 0, 0, 0), ("setns", -1, 0),
]:
    kernel(name, *arguments)


def skip(why):
    raise Skip(why)


def outcome(function):
    try:
        answer = function()
    except Skip as why:
        return "skipped: %s" % why
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except Exception as error:
        return "broken: %r" % error
    # A descriptor of 0 is an answer too.
    return "reached" if answer is not None and answer is not False and answer != [] else "nothing"


def main():
    for function in ATTEMPTS:
        if function.__name__ in GIVEN.get("not", ()):
            continue
        sys.stdout.flush()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            GIVEN["open"] = [writer]
            signal.alarm(10)
            os.write(writer, outcome(function).encode())
            os._exit(0)
        os.close(writer)
        said = os.read(reader, 4096).decode()
        os.close(reader)
        _, status = os.waitpid(child, 0)
        if not said:
            said = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "reached"
        print("%s\t%s" % (function.__name__, said))


main()
