/* Every system call of Linux 6.17 on 64-bit x86 and ARM, grouped by what it can reach. Before you add a
 * call, ask whether it can reach a file by its path, another process, the machine, or property of the
 * user. */
#include "calls.h"

#include <stddef.h>

#define PLACE(folder, path) {(folder), (path)}
#define NOWHERE PLACE(-1, -1)
#define CALL(name, rule) {__NR_##name, RULE_##rule, #name, {NOWHERE, NOWHERE}},
#define CALL_AT(name, rule, folder, path) \
  {__NR_##name, RULE_##rule, #name, {PLACE(folder, path), NOWHERE}},
#define CALL_FROM_TO(name, rule, folder, path, to_folder, to_path) \
  {__NR_##name, RULE_##rule, #name, {PLACE(folder, path), PLACE(to_folder, to_path)}},

const tabella_call tabella_calls[] = {
    /* Reading and writing open files. Landlock decided when they were opened. */
    CALL(read, ALLOW) CALL(write, ALLOW) CALL(pread64, ALLOW) CALL(pwrite64, ALLOW)
    CALL(readv, ALLOW) CALL(writev, ALLOW) CALL(preadv, ALLOW) CALL(pwritev, ALLOW)
    CALL(preadv2, ALLOW) CALL(pwritev2, ALLOW) CALL(lseek, ALLOW) CALL(close, ALLOW)
    CALL(close_range, ALLOW) CALL(dup, ALLOW) CALL(dup3, ALLOW) CALL(sendfile, ALLOW)
    CALL(copy_file_range, ALLOW) CALL(splice, ALLOW) CALL(tee, ALLOW) CALL(vmsplice, ALLOW)
    CALL(fsync, ALLOW) CALL(fdatasync, ALLOW) CALL(sync_file_range, ALLOW) CALL(syncfs, ALLOW)
    CALL(ftruncate, ALLOW) CALL(fallocate, ALLOW) CALL(fadvise64, ALLOW) CALL(readahead, ALLOW)
    CALL(flock, ALLOW) CALL(getdents64, ALLOW) CALL(pipe2, ALLOW) CALL(fcntl, ARGUMENTS)
    CALL(ioctl, ARGUMENTS)

    /* Existence of files. Landlock does not hide names, sizes or times. */
    CALL(fstat, ALLOW) CALL(newfstatat, ALLOW) CALL(statx, ALLOW) CALL(statfs, ALLOW)
    CALL(fstatfs, ALLOW) CALL(faccessat, ALLOW) CALL(faccessat2, ALLOW) CALL(readlinkat, ALLOW)
    CALL(getcwd, ALLOW) CALL(chdir, ALLOW) CALL(fchdir, ALLOW) CALL(umask, ALLOW)

    /* Calls by path: Landlock decides. */
    CALL_AT(openat, LANDLOCK, 0, 1) CALL_AT(openat2, ARGUMENTS, 0, 1)
    CALL_AT(mkdirat, LANDLOCK, 0, 1) CALL_AT(unlinkat, LANDLOCK, 0, 1)
    CALL_AT(symlinkat, LANDLOCK, 1, 2) CALL_FROM_TO(linkat, LANDLOCK, 0, 1, 2, 3)
    CALL_FROM_TO(renameat2, LANDLOCK, 0, 1, 2, 3) CALL_AT(truncate, TRUNCATE, -1, 0)
#ifdef __NR_renameat
    CALL_FROM_TO(renameat, LANDLOCK, 0, 1, 2, 3)
#endif

    /* Mode, owner, times and attributes. */
    CALL(fchmod, CHANGE) CALL(fchown, CHANGE) CALL(fsetxattr, CHANGE) CALL(fremovexattr, CHANGE)
    CALL(fgetxattr, ALLOW) CALL(flistxattr, ALLOW) CALL_AT(utimensat, ARGUMENTS, 0, 1)
    CALL_AT(fchmodat, CHANGE_BY_PATH, 0, 1) CALL_AT(fchmodat2, CHANGE_BY_PATH, 0, 1)
    CALL_AT(fchownat, CHANGE_BY_PATH, 0, 1) CALL_AT(setxattr, CHANGE_BY_PATH, -1, 0)
    CALL_AT(lsetxattr, CHANGE_BY_PATH, -1, 0) CALL_AT(removexattr, CHANGE_BY_PATH, -1, 0)
    CALL_AT(lremovexattr, CHANGE_BY_PATH, -1, 0) CALL_AT(getxattr, ATTRIBUTE_BY_PATH, -1, 0)
    CALL_AT(lgetxattr, ATTRIBUTE_BY_PATH, -1, 0) CALL_AT(listxattr, ATTRIBUTE_BY_PATH, -1, 0)
    CALL_AT(llistxattr, ATTRIBUTE_BY_PATH, -1, 0)
    CALL_AT(setxattrat, DENY, 0, 1) CALL_AT(getxattrat, DENY, 0, 1)
    CALL_AT(listxattrat, DENY, 0, 1) CALL_AT(removexattrat, DENY, 0, 1)
    CALL_AT(file_getattr, DENY, 0, 1) CALL_AT(file_setattr, DENY, 0, 1)

    /* Special files, and files that are found without a path. */
    CALL_AT(mknodat, DENY, 0, 1) CALL_AT(name_to_handle_at, DENY, 0, 1)
    CALL(open_by_handle_at, DENY)

    /* These calls report events in folders that Landlock hides. */
    CALL(inotify_init1, DENY) CALL(inotify_add_watch, DENY) CALL(inotify_rm_watch, DENY)
    CALL(fanotify_init, DENY) CALL(fanotify_mark, DENY) CALL(lookup_dcookie, DENY)

    /* Memory. Code is mapped from files, and no mapping is both writable and executable. A memory file
     * could be mapped twice, once to write it and once to execute it, and it does not count against
     * memory limits. */
    CALL(mmap, ARGUMENTS) CALL(mprotect, ARGUMENTS) CALL(pkey_mprotect, ARGUMENTS)
    CALL(munmap, ALLOW) CALL(mremap, ALLOW) CALL(brk, ALLOW) CALL(madvise, ALLOW)
    CALL(mincore, ALLOW) CALL(msync, ALLOW) CALL(mlock, ALLOW) CALL(mlock2, ALLOW)
    CALL(munlock, ALLOW) CALL(mlockall, ALLOW) CALL(munlockall, ALLOW) CALL(mseal, ALLOW)
    CALL(pkey_alloc, ALLOW) CALL(pkey_free, ALLOW) CALL(map_shadow_stack, ALLOW)
    CALL(memfd_create, DENY) CALL(mbind, ALLOW) CALL(set_mempolicy, ALLOW)
    CALL(get_mempolicy, ALLOW) CALL(set_mempolicy_home_node, ALLOW) CALL(membarrier, ALLOW)
    CALL(remap_file_pages, DENY) CALL(memfd_secret, DENY) CALL(userfaultfd, DENY)
    CALL(cachestat, DENY)

    /* Threads and waiting. New processes are refused, because they would outlive the worker and escape
     * its limits. */
    CALL(clone, ARGUMENTS) CALL(clone3, ARGUMENTS) CALL(exit, ALLOW) CALL(exit_group, ALLOW)
    CALL(futex, ALLOW) CALL(futex_waitv, ALLOW) CALL(futex_wake, ALLOW) CALL(futex_wait, ALLOW)
    CALL(futex_requeue, ALLOW) CALL(set_robust_list, ALLOW) CALL(set_tid_address, ALLOW)
    CALL(rseq, ALLOW) CALL(restart_syscall, ALLOW) CALL(sched_yield, ALLOW)
    CALL(sched_getaffinity, ALLOW) CALL(sched_getscheduler, ALLOW) CALL(sched_getparam, ALLOW)
    CALL(sched_getattr, ALLOW) CALL(sched_rr_get_interval, ALLOW)
    CALL(sched_get_priority_max, ALLOW) CALL(sched_get_priority_min, ALLOW)
    CALL(sched_setaffinity, OWN) CALL(sched_setscheduler, OWN) CALL(sched_setparam, OWN)
    CALL(sched_setattr, OWN) CALL(get_robust_list, OWN) CALL(wait4, ALLOW) CALL(waitid, ALLOW)
    CALL(nanosleep, ALLOW) CALL(clock_nanosleep, ALLOW) CALL(clock_gettime, ALLOW)
    CALL(clock_getres, ALLOW) CALL(gettimeofday, ALLOW) CALL(times, ALLOW)
    CALL(getitimer, ALLOW) CALL(setitimer, ALLOW) CALL(timer_create, ALLOW)
    CALL(timer_settime, ALLOW) CALL(timer_gettime, ALLOW) CALL(timer_getoverrun, ALLOW)
    CALL(timer_delete, ALLOW) CALL(timerfd_create, ALLOW) CALL(timerfd_settime, ALLOW)
    CALL(timerfd_gettime, ALLOW) CALL(eventfd2, ALLOW) CALL(epoll_create1, ALLOW)
    CALL(epoll_ctl, ALLOW) CALL(epoll_pwait, ALLOW) CALL(epoll_pwait2, ALLOW) CALL(ppoll, ALLOW)
    CALL(pselect6, ALLOW) CALL(getcpu, ALLOW) CALL(getrandom, ALLOW)

    /* Signals. The handler keeps SIGSYS unblocked and handled. */
    CALL(rt_sigaction, ARGUMENTS) CALL(rt_sigprocmask, ARGUMENTS) CALL(rt_sigreturn, ALLOW)
    CALL(rt_sigpending, ALLOW) CALL(rt_sigtimedwait, ALLOW) CALL(rt_sigsuspend, ALLOW)
    CALL(sigaltstack, ALLOW) CALL(signalfd4, ALLOW) CALL(kill, SIGNAL_OF_OWN)
    CALL(tgkill, SIGNAL_OF_OWN) CALL(rt_sigqueueinfo, SIGNAL_OF_OWN)
    CALL(rt_tgsigqueueinfo, SIGNAL_OF_OWN) CALL(tkill, SIGNAL) CALL(pidfd_open, SIGNAL)
    CALL(pidfd_send_signal, SIGNAL) CALL(getpriority, ALLOW) CALL(setpriority, ARGUMENTS)
    CALL(ioprio_get, ALLOW) CALL(ioprio_set, DENY)

    /* The identity of this process. */
    CALL(getpid, ALLOW) CALL(gettid, ALLOW) CALL(getppid, ALLOW) CALL(getpgid, ALLOW)
    CALL(getsid, ALLOW) CALL(getuid, ALLOW) CALL(geteuid, ALLOW) CALL(getgid, ALLOW)
    CALL(getegid, ALLOW) CALL(getresuid, ALLOW) CALL(getresgid, ALLOW) CALL(getgroups, ALLOW)
    CALL(capget, ALLOW) CALL(uname, ALLOW) CALL(sysinfo, ALLOW) CALL(getrusage, ALLOW)
    CALL(prlimit64, OWN) CALL(prctl, ARGUMENTS) CALL(personality, ARGUMENTS)
    CALL(setuid, DENY) CALL(setgid, DENY) CALL(setreuid, DENY) CALL(setregid, DENY)
    CALL(setresuid, DENY) CALL(setresgid, DENY) CALL(setfsuid, DENY) CALL(setfsgid, DENY)
    CALL(setgroups, DENY) CALL(capset, DENY) CALL(setsid, DENY) CALL(setpgid, DENY)

    /* Further confinement of the process harms no one. */
    CALL(landlock_create_ruleset, ALLOW) CALL(landlock_add_rule, ALLOW)
    CALL(landlock_restrict_self, ALLOW) CALL(seccomp, ARGUMENTS)

    /* Messages: sockets that the host created, and new ones if the network is granted. */
    CALL(sendto, ALLOW) CALL(recvfrom, ALLOW) CALL(sendmsg, ALLOW) CALL(recvmsg, ALLOW)
    CALL(sendmmsg, ALLOW) CALL(recvmmsg, ALLOW) CALL(shutdown, ALLOW) CALL(getsockname, ALLOW)
    CALL(getpeername, ALLOW) CALL(getsockopt, ALLOW) CALL(setsockopt, ALLOW)
    CALL(socket, ARGUMENTS) CALL(connect, NETWORK) CALL(bind, NETWORK) CALL(listen, NETWORK)
    CALL(accept, NETWORK) CALL(accept4, NETWORK)
    /* A datagram socket could send a message to any other socket. */
    CALL(socketpair, DENY)
    CALL(mq_open, DENY) CALL(mq_unlink, DENY) CALL(mq_timedsend, DENY) CALL(mq_timedreceive, DENY)
    CALL(mq_notify, DENY) CALL(mq_getsetattr, DENY) CALL(msgget, DENY) CALL(msgsnd, DENY)
    CALL(msgrcv, DENY) CALL(msgctl, DENY) CALL(semget, DENY) CALL(semop, DENY) CALL(semctl, DENY)
    CALL(semtimedop, DENY) CALL(shmget, DENY) CALL(shmat, DENY) CALL(shmdt, DENY)
    CALL(shmctl, DENY)

    /* Programs and other processes. The handler uses process_vm_readv on this process itself, to read a
     * path at an address that can be invalid. */
    CALL_AT(execve, DENY, -1, 0) CALL_AT(execveat, DENY, 0, 1) CALL(ptrace, DENY)
    CALL(process_vm_readv, ARGUMENTS) CALL(process_vm_writev, DENY) CALL(process_madvise, DENY)
    CALL(process_mrelease, DENY) CALL(pidfd_getfd, DENY) CALL(kcmp, DENY)
    CALL(migrate_pages, DENY) CALL(move_pages, DENY)

    /* Parts of the kernel that are large and rarely needed, and that have had vulnerabilities. */
    CALL(io_uring_setup, DENY) CALL(io_uring_enter, DENY) CALL(io_uring_register, DENY)
    CALL(io_setup, DENY) CALL(io_destroy, DENY) CALL(io_submit, DENY) CALL(io_cancel, DENY)
    CALL(io_getevents, DENY) CALL(io_pgetevents, DENY) CALL(bpf, DENY)
    CALL(perf_event_open, DENY) CALL(add_key, DENY) CALL(request_key, DENY) CALL(keyctl, DENY)

    /* Mounts, namespaces, the machine. */
    CALL_AT(mount, DENY, -1, 1) CALL_AT(umount2, DENY, -1, 0) CALL(pivot_root, DENY)
    CALL_AT(chroot, DENY, -1, 0) CALL(unshare, DENY) CALL(setns, DENY) CALL(fsopen, DENY)
    CALL(fsconfig, DENY) CALL(fsmount, DENY) CALL(fspick, DENY) CALL_AT(open_tree, DENY, 0, 1)
    CALL(open_tree_attr, DENY) CALL(move_mount, DENY) CALL(mount_setattr, DENY)
    CALL(statmount, DENY) CALL(listmount, DENY) CALL(quotactl, DENY) CALL(quotactl_fd, DENY)
    CALL(swapon, DENY) CALL(swapoff, DENY) CALL(sync, ALLOW) CALL(acct, DENY) CALL(syslog, DENY)
    CALL(reboot, DENY) CALL(kexec_load, DENY) CALL(init_module, DENY) CALL(finit_module, DENY)
    CALL(delete_module, DENY) CALL(sethostname, DENY) CALL(setdomainname, DENY)
    CALL(settimeofday, DENY) CALL(clock_settime, DENY) CALL(adjtimex, DENY)
    CALL(clock_adjtime, DENY) CALL(vhangup, DENY) CALL(nfsservctl, DENY)
    CALL(lsm_get_self_attr, DENY) CALL(lsm_set_self_attr, DENY) CALL(lsm_list_modules, DENY)
#ifdef __NR_kexec_file_load
    CALL(kexec_file_load, DENY)
#endif

    /* Limits that were lowered cannot be raised again. Newer machines have only prlimit64. */
#ifdef __NR_setrlimit
    CALL(getrlimit, ALLOW) CALL(setrlimit, ALLOW)
#endif

#ifdef __x86_64__
    /* Older calls with the same effect as calls above. */
    CALL_AT(open, LANDLOCK, -1, 0) CALL_AT(creat, LANDLOCK, -1, 0) CALL_AT(mkdir, LANDLOCK, -1, 0)
    CALL_AT(rmdir, LANDLOCK, -1, 0) CALL_AT(unlink, LANDLOCK, -1, 0)
    CALL_AT(symlink, LANDLOCK, -1, 1) CALL_FROM_TO(link, LANDLOCK, -1, 0, -1, 1)
    CALL_FROM_TO(rename, LANDLOCK, -1, 0, -1, 1) CALL_AT(mknod, DENY, -1, 0)
    CALL_AT(chmod, CHANGE_BY_PATH, -1, 0) CALL_AT(chown, CHANGE_BY_PATH, -1, 0)
    CALL_AT(lchown, CHANGE_BY_PATH, -1, 0) CALL_AT(utime, DENY, -1, 0)
    CALL_AT(utimes, DENY, -1, 0) CALL_AT(futimesat, DENY, 0, 1)
    CALL(stat, ALLOW) CALL(lstat, ALLOW) CALL(access, ALLOW) CALL(readlink, ALLOW)
    CALL(getdents, ALLOW) CALL(dup2, ALLOW) CALL(pipe, ALLOW) CALL(poll, ALLOW)
    CALL(select, ALLOW) CALL(epoll_create, ALLOW) CALL(epoll_wait, ALLOW) CALL(eventfd, ALLOW)
    CALL(signalfd, ALLOW) CALL(alarm, ALLOW) CALL(pause, ALLOW) CALL(time, ALLOW)
    CALL(getpgrp, ALLOW) CALL(arch_prctl, ALLOW)
    CALL(fork, DENY) CALL(vfork, DENY) CALL(inotify_init, DENY) CALL(modify_ldt, DENY)
    CALL(set_thread_area, DENY) CALL(get_thread_area, DENY) CALL(iopl, DENY) CALL(ioperm, DENY)
    CALL(uselib, DENY) CALL(ustat, DENY) CALL(sysfs, DENY) CALL(_sysctl, DENY)
    CALL(create_module, DENY) CALL(get_kernel_syms, DENY) CALL(query_module, DENY)
    CALL(getpmsg, DENY) CALL(putpmsg, DENY) CALL(afs_syscall, DENY) CALL(tuxcall, DENY)
    CALL(security, DENY) CALL(vserver, DENY) CALL(epoll_ctl_old, DENY) CALL(epoll_wait_old, DENY)
#endif
};

const int tabella_call_count = sizeof tabella_calls / sizeof *tabella_calls;

const tabella_call *tabella_find_call(uint32_t number) {
  for (int index = 0; index < tabella_call_count; index++) {
    if (tabella_calls[index].number == number) return &tabella_calls[index];
  }
  return NULL;
}
