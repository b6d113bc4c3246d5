package child

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stackSignal is what Python answers by writing its stacks: one of the real-time signals
// that nobody else is likely to use.
const stackSignal = syscall.Signal(50)

// AskStack makes Python write the stacks of its threads, and waits up to a second until
// it has.
func (c *Child) AskStack() {
	c.process.Signal(stackSignal)
	size, same := int64(0), 0
	for range 100 {
		info, err := c.stack.Stat()
		if err != nil {
			return
		}
		if info.Size() > 0 && info.Size() == size {
			if same++; same == 3 {
				return
			}
		} else {
			size, same = info.Size(), 0
		}
		select {
		case <-c.exited:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stack returns the stacks of Python's threads, if they were asked for or Python crashed,
// once the process has exited.
func (c *Child) Stack() string { return c.dump }

// readStack returns the stacks that Python has written, without the worker's own frames.
func (c *Child) readStack() string {
	text, _ := io.ReadAll(io.NewSectionReader(c.stack, 0, 64<<10))
	var kept []string
	own := false // the frame before this one is the worker's
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		frame := strings.HasPrefix(line, "  File ")
		main := own && strings.HasPrefix(line, `  File "<string>"`) // frames are listed innermost first: this one is what -c names
		if own = frame && (strings.Contains(line, "/headrace/worker.py\"") || strings.Contains(line, "/headrace/_worker/")); own || main {
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// stackFile returns an anonymous file that is closed on exec.
func stackFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("headrace-stack", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("extern: memfd_create: %w", err)
	}
	return os.NewFile(uintptr(fd), "headrace-stack"), nil
}
