package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/wire"
)

// inputMemory is the memory that tasks of all sessions share for compressed inputs and
// for decoding. Each input asks for everything it needs before it is read, so none waits
// while holding any; one that needs more than there is gets all of it alone.
type inputMemory struct {
	limit int64 // 0: as much as a loader takes
	once  sync.Once
	lane  *budget.Lane
	turn  atomic.Uint64
	kept  atomic.Int64 // of inputs that were read, and whose turn to be decoded has not come
}

const forInputs budget.Purpose = "inputs"

func (m *inputMemory) open() {
	m.once.Do(func() {
		if m.limit == 0 {
			m.limit = machine.Here().Budget(1)
		}
		m.lane = budget.New(m.limit).Lane()
	})
}

func (m *inputMemory) ask(ctx context.Context, n int64) (budget.Grant, error) {
	m.open()
	return m.lane.Acquire(ctx, m.turn.Add(1), forInputs, n)
}

// keep reserves n more bytes for inputs that wait to be decoded, or returns false. They
// are held without a turn, so only a part of the memory is used for them.
func (m *inputMemory) keep(n int64) bool {
	m.open()
	if m.kept.Add(n) <= m.limit/4 {
		return true
	}
	m.kept.Add(-n)
	return false
}

// input is one file or piece of the inbox, as far as it has been read. It has no
// reference to its session, so that abandoned work can go on with it.
type input struct {
	path  string // "": it is in the inbox
	file  store.File
	open  bool
	inbox int
	place wire.Input
	size  int64
	data  *[]byte // borrowed; from the beginning
	info  media.Info
	kept  *inputMemory // that keeps it for later; nil: none does
}

// mostBytes is the largest size of a file unless a task says otherwise, the same as for a
// loader's files.
const mostBytes = 1 << 30

// begin opens an input and reads its header. If it is not an image, reading stops there.
func (in *input) begin(ctx context.Context, most int64) error {
	if err := in.start(ctx, most); err != nil {
		return err
	}
	for n := int64(64 << 10); ; n *= 4 {
		ended, err := in.readOn(n)
		if err != nil {
			return err
		}
		in.info, err = media.Probe(*in.data)
		if ended || !errors.Is(err, media.ErrTruncated) {
			return err
		}
	}
}

// start opens an input without reading it.
func (in *input) start(ctx context.Context, most int64) error {
	if most <= 0 {
		most = mostBytes
	}
	if in.path != "" {
		f, err := store.Open(ctx, in.path, most)
		if err != nil {
			return err
		}
		in.file, in.open, in.size = f, true, f.Size()
	} else {
		in.size = int64(in.place.Length)
	}
	in.data = files.Take(0)
	return nil
}

// finish reads the rest, and the header again: an orientation, for one, may come after
// the pixels.
func (in *input) finish() (err error) {
	if _, err := in.readOn(math.MaxInt64); err != nil {
		return err
	}
	if in.open {
		in.file.Close()
		in.open = false
	}
	in.info, err = media.Probe(*in.data)
	return err
}

// readOn reads until there are n bytes, or to the end.
func (in *input) readOn(n int64) (ended bool, err error) {
	if in.path == "" {
		return in.readInbox(n)
	}
	if !in.open {
		return true, nil
	}
	if have := len(*in.data); int64(have) < n && have == cap(*in.data) {
		room := n
		if have > 0 {
			room = math.MaxInt64 // so that no piece that was outgrown is held beside the next: a TIFF's header may be at its end
		}
		files.Grow(in.data, have+in.file.Room(have, room))
	}
	all, ended, err := in.file.ReadOn(*in.data, n)
	if err == nil {
		files.Moved(in.data, all)
	}
	return ended, err
}

// inbox is the descriptor of a client's memory.
type inbox int

// ReadAt implements [io.ReaderAt].
func (fd inbox) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		got, err := unix.Pread(int(fd), p[n:], at+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if got == 0 {
			return n, io.ErrUnexpectedEOF
		}
		n += got
	}
	return n, nil
}

// readInbox copies from the inbox, because the client may change it while a decoder reads
// it.
func (in *input) readInbox(n int64) (ended bool, err error) {
	buffer, have := in.data, len(*in.data)
	want := int(min(n, in.size))
	if want <= have {
		return int64(have) == in.size, nil
	}
	if have > 0 {
		files.Grow(buffer, int(in.size))
	}
	files.Grow(buffer, want)
	*buffer = (*buffer)[:want]
	if _, err := inbox(in.inbox).ReadAt((*buffer)[have:], int64(in.place.At)+int64(have)); err != nil {
		return false, fmt.Errorf("serve: inbox: %w", err)
	}
	return int64(want) == in.size, nil
}

// readArray reads all of an input in the inbox.
func (in *input) readArray() error {
	if err := in.start(context.Background(), 0); err != nil {
		return err
	}
	_, err := in.readInbox(in.size)
	return err
}

// forget gives back everything the input holds. It can be started again.
func (in *input) forget() {
	if in.open {
		in.file.Close()
		in.open = false
	}
	if in.kept != nil {
		in.kept.kept.Add(-int64(len(*in.data)))
		in.kept = nil
	}
	if in.data != nil {
		files.Give(in.data)
		in.data = nil
	}
}
