// Package trust tells whether a file that nobody named, such as an index beside a shard,
// may say what is read of files that somebody did name.
//
// In a folder that many may write to, anyone can put an index beside a shard of somebody
// else, and have its readers get other bytes. So a file is believed if it is this user's
// or root's alone, or if everybody who could have written it could have written those
// files as well.
package trust

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Judge answers for one set of files. It keeps what it has found out of folders. It may
// be used by several goroutines at once; the zero value is ready.
type Judge struct {
	mu      sync.Mutex
	folders map[string]writers // of folders, those above them included
}

// Doubt says who could have written a file, and not what it tells of.
type Doubt struct{ Path, Who string }

func (d *Doubt) Error() string {
	return fmt.Sprintf("%s could have been written by %s, who could not have written the data", d.Path, d.Who)
}

// Check returns an error if a file, by its descriptor, is not to be believed when these
// files are read. It is a [Doubt] unless something cannot be found out. Without files, as
// where the data are on another machine, only this user and root are believed.
func (j *Judge) Check(fd int, path string, data []string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if own(st.Uid) && st.Mode&0o022 == 0 {
		return nil // what its folder allows does not matter: to put another of this user's files here changes nothing
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	w, err := j.at(path)
	if err != nil {
		return err
	}
	// The name may lead to another file by now: this is the one that is read.
	w.entry(&st, listed(fd))
	if len(data) == 0 {
		if who := w.beyond(writers{}); who != "" {
			return &Doubt{path, who}
		}
	}
	for _, name := range data {
		theirs, err := j.at(name)
		if err != nil {
			return err
		}
		if who := w.beyond(theirs); who != "" {
			return &Doubt{path, who}
		}
	}
	return nil
}

// Own reports whether a file is this user's or root's.
func Own(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && own(st.Uid)
}

func own(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }
