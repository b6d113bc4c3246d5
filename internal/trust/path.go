package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// at returns those who decide what is found at a path: they may write the file, or put
// another file, folder or link where a part of its name is.
func (j *Judge) at(path string) (w writers, err error) {
	folder, name := filepath.Split(path)
	known, ok := j.folders[folder]
	if !ok {
		if err := known.path(folder); err != nil {
			return w, err
		}
		if j.folders == nil {
			j.folders = map[string]writers{}
		}
		j.folders[folder] = known
	}

	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return w, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	w = writers{slices.Clone(known.users), slices.Clone(known.groups), known.others, known.unknown}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK || name == "" || name == ".." {
		return w, w.path(path)
	}
	w.entry(&st, listedAt(path))
	return w, nil
}

// mostLinks is how many links a name may lead through, as for Linux.
const mostLinks = 40

// path adds those who decide where a path leads, part after part, as Linux follows it.
func (w *writers) path(path string) error {
	at, rest := "/", path
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		rest = here + "/" + path
	}
	for links := 0; ; {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return &os.PathError{Op: "stat", Path: at, Err: err}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			w.users = append(w.users, st.Uid) // its mode says nothing
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if links++; links > mostLinks {
				return &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
			}
			at = filepath.Dir(at)
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = target + "/" + rest
		} else {
			w.entry(&st, listedAt(at))
		}

		rest = strings.TrimLeft(rest, "/")
		if rest == "" {
			return nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		at = filepath.Join(at, name) // at has no links, so that .. is the folder above
	}
}
