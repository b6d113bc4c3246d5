package serve

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// watch calls gone once the process has ended. It holds a thread, for a pidfd is no file that the runtime's poller takes.
func watch(pid int, gone func()) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("serve: watch process %d: %w", pid, err)
	}
	go func() {
		defer unix.Close(fd)
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
