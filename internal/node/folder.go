package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Folder is a meeting place.
type Folder struct{ path string }

// meeting returns the place of this process; nil: it is alone.
var meeting atomic.Pointer[func() *Folder]

// Meet has this process meet the others of its user, once it has something to share. If
// there is no place for that, it stays alone.
func Meet() {
	f := sync.OnceValue(func() *Folder {
		f, err := Open(place())
		if err != nil {
			slog.Debug("this process shares nothing with others of its node", "error", err)
			return nil
		}
		f.sweep()
		return f
	})
	meeting.Store(&f)
}

// Use has this process meet those that use the same folder, for tests. It returns the
// function that ends it.
func (f *Folder) Use() (end func()) {
	is := func() *Folder { return f }
	was := meeting.Swap(&is)
	return func() { meeting.Store(was) }
}

// met returns the place of this process; nil: it is alone.
func met() *Folder {
	if f := meeting.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// place is the folder of this user.
func place() string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && check(runtime) == nil {
		return filepath.Join(runtime, "headrace")
	}
	return filepath.Join(os.TempDir(), "headrace-"+strconv.Itoa(os.Geteuid()))
}

// Open returns the meeting place in a folder, which is made if there is none. It must be
// the user's own, with the rights 0700: in a folder for all, another user may have made
// it before.
func Open(path string) (*Folder, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("node: %w", err)
	}
	if err := check(path); err != nil {
		return nil, err
	}
	for _, inner := range []string{pages, turns, circles} {
		if err := os.Mkdir(filepath.Join(path, inner), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("node: %w", err)
		}
	}
	return &Folder{path}, nil
}

const (
	pages = "pages" // of numbers
	turns = "turns" // of what is done once
)

// check returns an error if a folder is not the user's alone.
func check(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("node: %s: %w", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("node: %s is not a folder: remove it", path)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("node: %s belongs to the user %d: set XDG_RUNTIME_DIR to a folder of your own", path, st.Uid)
	case st.Mode&0o777 != 0o700:
		return fmt.Errorf("node: %s can be used by others: chmod 700 it", path)
	}
	return nil
}

// file is the path for a name.
func (f *Folder) file(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(f.path, kind, hex.EncodeToString(sum[:16]))
}

// sweep removes the files of dead members. A failure is left to later members.
func (f *Folder) sweep() {
	for _, kind := range []string{pages, turns} {
		entries, _ := os.ReadDir(filepath.Join(f.path, kind))
		for _, e := range entries {
			removeIfLeft(filepath.Join(f.path, kind, e.Name()))
		}
	}
}

// removeIfLeft removes a file without locks.
func removeIfLeft(path string) {
	l, err := openLocked(path, 0)
	if err != nil {
		return
	}
	defer l.close()
	if l.lock(door) != nil {
		return
	}
	if free, err := l.isFree(0, door); err == nil && free && l.isAt(path) {
		os.Remove(path)
	}
}
