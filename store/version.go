package store

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Version says in which state a file is. What is written later, or put in its place, has
// another one.
type Version struct {
	Size     int64
	Modified int64 // in nanoseconds
	Inode    uint64
}

// String is short, and says all but the size.
func (v Version) String() string {
	return strconv.FormatInt(v.Modified, 36) + "-" + strconv.FormatUint(v.Inode, 36)
}

func versionOf(st *unix.Stat_t) Version {
	return Version{st.Size, st.Mtim.Nano(), st.Ino}
}

// Version returns the file's version when it was opened.
func (f File) Version() Version { return f.version }
