package store

import (
	"fmt"
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

// VersionOf returns the version of a file that is not open.
func VersionOf(path string) (Version, error) {
	st, err := status(path)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("%w but a %s", ErrNotRegular, kindOf(st.Mode))
	}
	if err != nil {
		return Version{}, fmt.Errorf("store: read %q: %w", path, err)
	}
	return versionOf(&st), nil
}

// Version returns the file's version when it was opened.
func (f File) Version() Version { return f.version }
