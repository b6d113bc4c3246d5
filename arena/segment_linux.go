package arena

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// This file is all that the package knows of its operating system. Elsewhere an
// unlinked shm_open would take memfd_create's place.

// mapShared makes shared memory of that size, zeroed, maps it, and returns its
// descriptor too.
func mapShared(name string, size int64) (memory []byte, fd int, err error) {
	if fd, err = createMemfd(name); err != nil {
		return nil, -1, refused("memfd_create", size, err)
	}
	if memory, err = mapSealed(fd, size); err != nil {
		closeDescriptor(fd)
		return nil, -1, err
	}
	return memory, fd, nil
}

// createMemfd asks for the seal against execution too, which kernels before 6.3 do not
// know.
func createMemfd(name string) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		return unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	return fd, err
}

func mapSealed(fd int, size int64) ([]byte, error) {
	if limit, ok := fileSizeLimit(); ok && uint64(size) > limit {
		// The system call would raise SIGXFSZ, which ends a Go program.
		return nil, refused("ftruncate", size, unix.EFBIG)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		return nil, refused("ftruncate", size, err)
	}
	// A consumer that could shrink the file would crash whoever reads beyond its end.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, refused("F_ADD_SEALS", size, err)
	}
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, refused("mmap", size, err)
	}
	return memory, nil
}

func fileSizeLimit() (limit uint64, ok bool) {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &r)
	return r.Cur, err == nil
}

func unmapShared(memory []byte) {
	if err := unix.Munmap(memory); err != nil {
		panic(fmt.Sprintf("arena: munmap: %v", err)) // a slice that mapShared did not return
	}
}

func closeDescriptor(fd int) { unix.Close(fd) }

// refused explains a system call's failure by what can be done about it.
func refused(call string, size int64, err error) error {
	return &RefusedError{Call: call, Bytes: size, Remedy: remedy(call, err), Err: err}
}

func remedy(call string, err error) string {
	switch {
	case errors.Is(err, unix.EMFILE):
		return fmt.Sprintf("this process may have %s open files: raise the limit (ulimit -n)", limitText(unix.RLIMIT_NOFILE))
	case errors.Is(err, unix.ENFILE):
		return "the system has too many open files: raise fs.file-max"
	case errors.Is(err, unix.EFBIG):
		return fmt.Sprintf("this process may make files of %s bytes, and shared memory counts as a file: "+
			"raise the limit (ulimit -f)", limitText(unix.RLIMIT_FSIZE))
	case errors.Is(err, unix.ENOMEM) && call == "mmap":
		return fmt.Sprintf("raise the limit of address space (ulimit -v, now %s bytes) "+
			"or of mappings (vm.max_map_count), or hold fewer batches", limitText(unix.RLIMIT_AS))
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOSPC):
		return "the system cannot promise that much memory: use smaller batches, hold fewer of them, or relax vm.overcommit_memory"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "the sandbox forbids it: allow memfd_create, sealing, and shared mappings (seccomp profile)"
	}
	return ""
}

func limitText(resource int) string {
	var r unix.Rlimit
	switch err := unix.Getrlimit(resource, &r); {
	case err != nil:
		return "an unknown number of"
	case r.Cur == unix.RLIM_INFINITY:
		return "unlimited"
	}
	return fmt.Sprint(r.Cur)
}
