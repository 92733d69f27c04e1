//! The tables of refused system calls, and why each is in its table. Pure data.

/// They change what a process sees or the machine itself, or open a part of the kernel that ordinary
/// tools do without.
pub(super) const ALWAYS: &[i64] = &[
    // Other namespaces and file systems.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_chroot,
    // Files by number, past every path.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Parts of the kernel that were ways out before.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Libraries have another way where these are said not to exist. Of `clone3` a filter cannot see the
/// flags.
pub(super) const ABSENT: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
];

/// Other processes' memory. Landlock keeps them to the command's own processes, which debuggers and
/// leak checkers need; without it they are closed.
pub(super) const WITHOUT_LANDLOCK: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// Shared memory, queues and semaphores by number or name reach other programs of the user, unless
/// the command has a namespace of its own for them.
pub(super) const WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Signals to one process or thread, which is the first argument, and a handle to it.
pub(super) const SIGNALS_BY_ID: &[i64] = &[
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
];

/// Commands of `fcntl` that make somebody the owner of a descriptor's signals, or choose the signal.
pub(super) const SIGNALS_BY_DESCRIPTOR: &[i32] = &[libc::F_SETOWN, F_SETSIG, F_SETOWN_EX];
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// The same by `ioctl`: `FIOSETOWN` and `SIOCSPGRP`.
pub(super) const OWNERS_BY_REQUEST: &[libc::Ioctl] = &[0x8901, 0x8902];

/// Flags of `clone` that make a namespace.
pub(super) const NEW_NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Calls that have a number of their own in x32, beside the common one with its bit set.
#[cfg(target_arch = "x86_64")]
pub(super) const X32: &[(i64, i64)] = &[
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_rt_sigqueueinfo, 524),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_rt_tgsigqueueinfo, 536),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];
