package serve

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// watch calls gone once the process has ended. It holds a thread, because the runtime's
// poller does not take a pidfd.
func watch(pid int, gone func()) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("serve: watch process %d: %w", pid, err)
	}
	go func() {
		defer unix.Close(fd)
		// An engine that is stopped when its parent ends would not notice. The kernel
		// wakes it, for as long as the thread that asked for this lives. Where only the
		// thread that started the engine has ended, and not its process, the signal
		// changes nothing.
		runtime.LockOSThread()
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0)
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(poll, -1); err != unix.EINTR {
				gone()
				return
			}
		}
	}()
	return nil
}
