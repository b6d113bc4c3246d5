package serve

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lastWordsLimit bounds the engine's log, which nobody reads while the engine lives.
const lastWordsLimit = 256 << 10

// lastWords writes the engine's log to a file, and starts again from its beginning after
// lastWordsLimit bytes. The offset is the descriptor's own, so that output of the runtime
// or a C library at the very end comes after it.
type lastWords struct {
	mu   sync.Mutex
	file *os.File // guarded by mu
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, err := unix.Seek(int(l.file.Fd()), 0, io.SeekCurrent); err == nil && at+int64(len(p)) > lastWordsLimit {
		unix.Seek(int(l.file.Fd()), 0, io.SeekStart)
	}
	n, err := l.file.Write(p)
	if err != nil {
		return n, fmt.Errorf("serve: log: %w", err)
	}
	return n, nil
}
