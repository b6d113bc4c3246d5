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

	"headrace/budget"
	"headrace/internal/machine"
	"headrace/media"
	"headrace/store"
	"headrace/wire"
)

// larder is the memory that tasks of all sessions share: compressed inputs, and what
// decoders take. Each input asks for all that it needs at once, before it is read, so
// none waits while it holds any; one that needs more than there is has it to itself.
type larder struct {
	most int64 // 0: as much as a loader takes
	once sync.Once
	lane *budget.Lane
	turn atomic.Uint64
	kept atomic.Int64 // of inputs that were read, and whose turn to be decoded has not come
}

const forInputs budget.Purpose = "inputs"

func (l *larder) open() {
	l.once.Do(func() {
		if l.most == 0 {
			l.most = machine.Here().Budget(1)
		}
		l.lane = budget.New(l.most).Lane()
	})
}

func (l *larder) ask(ctx context.Context, n int64) (budget.Grant, error) {
	l.open()
	return l.lane.Acquire(ctx, l.turn.Add(1), forInputs, n)
}

// keep reports whether n bytes more may be kept for later. They are held without a
// turn, so there is a part of the memory for them.
func (l *larder) keep(n int64) bool {
	l.open()
	if l.kept.Add(n) <= l.most/4 {
		return true
	}
	l.kept.Add(-n)
	return false
}

// input is where one image comes from, as far as it has been read. It has nothing of
// its session, so that work that is given up may go on with it.
type input struct {
	path  string // "": it is in the inbox
	file  store.File
	open  bool
	inbox int
	place wire.Input
	size  int64
	data  *[]byte // borrowed; from the beginning
	info  media.Info
	kept  *larder // that keeps it for later; nil: none does
}

// mostBytes is how large a file is read unless a task says otherwise: as for the files
// of a loader.
const mostBytes = 1 << 30

// begin opens an input, and reads as much of it as its header takes. What is no image
// is not read any further.
func (in *input) begin(most int64) error {
	if err := in.start(most); err != nil {
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

// start opens an input, of which nothing is read yet.
func (in *input) start(most int64) error {
	if most <= 0 {
		most = mostBytes
	}
	if in.path != "" {
		f, err := store.Local{MaxBytes: most}.Open(in.path)
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

// finish reads the rest. The header is looked at again: an orientation, for one, may
// are after the pixels.
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

// readOn reads until there are n bytes, or all.
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

// inbox reads what a client has in memory.
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

// readInbox copies: what is there is the client's, and may change while a decoder
// looks at it.
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

// readArray reads all of an input that is in the inbox.
func (in *input) readArray() error {
	if err := in.start(0); err != nil {
		return err
	}
	_, err := in.readInbox(in.size)
	return err
}

// forget gives back what the input holds. It can be begun again.
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
