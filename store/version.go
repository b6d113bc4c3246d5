package store

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Version says in which state a file is. What is written later, or put in its place, has
// another one.
type Version struct {
	Size     int64
	Modified int64 // in nanoseconds
	Inode    uint64
	Changed  int64 // in nanoseconds: the file, its mode or its names, which no program can set
}

// String is short, and says all but the size.
func (v Version) String() string {
	return strconv.FormatInt(v.Modified, 36) + "-" + strconv.FormatUint(v.Inode, 36) + changedMark + strconv.FormatInt(v.Changed, 36)
}

const changedMark = "~"

// Written is the part of a version, as its String, that stays while a file only gets
// another mode, owner or name.
func Written(version string) string {
	written, _, _ := strings.Cut(version, changedMark)
	return written
}

func versionOf(st *unix.Stat_t) Version {
	return Version{st.Size, st.Mtim.Nano(), st.Ino, st.Ctim.Nano()}
}

// Version returns the file's version when it was opened.
func (f File) Version() Version { return f.version }
