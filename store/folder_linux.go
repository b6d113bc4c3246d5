package store

import (
	"bytes"
	"encoding/binary"
	"iter"

	"golang.org/x/sys/unix"
)

// folder is an open folder. The system's calls are used directly: package os would make
// a value of each entry, and look up again what the system has said already.
type folder struct{ fd int }

func openFolder(path string, id *entered) (folder, error) {
	f := folder{-1}
	var st unix.Stat_t
	err := again(func() (err error) {
		f.fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return f, err
	}
	if err = unix.Fstat(f.fd, &st); err != nil {
		f.close()
		return f, err
	}
	id.dev, id.ino = uint64(st.Dev), st.Ino
	return f, nil
}

func (f folder) close() { unix.Close(f.fd) }

// read fills buf with entries. None: the folder has been read.
func (f folder) read(buf []byte) (block []byte, err error) {
	var n int
	err = again(func() error {
		n, err = unix.Getdents(f.fd, buf)
		return err
	})
	return buf[:max(n, 0)], err
}

// entries yields the names in a block and their kinds (DT_REG, …), less "." and "..". A
// name is valid until the next one.
func entries(block []byte) iter.Seq2[[]byte, byte] {
	// struct linux_dirent64: u64 inode, s64 offset, u16 length of the record, u8 kind,
	// and the name up to a zero byte.
	const length, kind, name = 16, 18, 19
	return func(yield func([]byte, byte) bool) {
		for len(block) >= name {
			record := block[:binary.NativeEndian.Uint16(block[length:])]
			block = block[len(record):]
			text := record[name:]
			text = text[:bytes.IndexByte(text, 0)]
			if string(text) == "." || string(text) == ".." {
				continue
			}
			if !yield(text, record[kind]) {
				return
			}
		}
	}
}

// isFolder reports whether an entry is a folder, or a link to one.
func (f folder) isFolder(name []byte, kind byte) (bool, error) {
	switch kind {
	case unix.DT_DIR:
		return true, nil
	case unix.DT_LNK, unix.DT_UNKNOWN: // some file systems do not say
		return kindAt(f.fd, string(name))
	default:
		return false, nil
	}
}

// kindAt reports whether a path leads to a folder. A link that leads nowhere is
// something that exists and is no folder.
func kindAt(fd int, path string) (isFolder bool, err error) {
	var st unix.Stat_t
	err = again(func() error { return unix.Fstatat(fd, path, &st, 0) })
	if err == unix.ENOENT || err == unix.ELOOP {
		err = again(func() error { return unix.Fstatat(fd, path, &st, unix.AT_SYMLINK_NOFOLLOW) })
	}
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR, err
}
