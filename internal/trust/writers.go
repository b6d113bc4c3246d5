package trust

import (
	"slices"

	"golang.org/x/sys/unix"
)

// writers are those who can write something.
type writers struct {
	users   []uint32
	groups  []uint32
	others  bool // everybody
	unknown bool // and those whom an access control list names
}

// overflow is the user that stands for all whom this user namespace does not know: two
// files of it may be of two users.
const overflow = 65534

// entry adds those who can write a file, or change what is in a folder. Where a list
// controls access, the mode of the group is the most that anybody on it has.
func (w *writers) entry(st *unix.Stat_t, listed bool) {
	w.users = append(w.users, st.Uid)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 {
		return // of what is in it, only the owner can put something else in its place
	}
	w.others = w.others || st.Mode&0o002 != 0
	if st.Mode&0o020 != 0 {
		if listed {
			w.unknown = true
		} else {
			w.groups = append(w.groups, st.Gid)
		}
	}
}

// beyond names one that theirs do not have, other than this user and root; "": there is
// none.
func (w *writers) beyond(theirs writers) string {
	if theirs.others {
		return ""
	}
	switch {
	case w.others:
		return "everybody"
	case w.unknown:
		return "those in its access control list"
	}
	for _, id := range w.groups {
		if !slices.Contains(theirs.groups, id) {
			return "group " + nameOf(group, id)
		}
	}
	for _, id := range w.users {
		if own(id) || id != overflow && slices.Contains(theirs.users, id) {
			continue
		}
		if !slices.ContainsFunc(theirs.groups, func(of uint32) bool { return isIn(id, of) }) {
			return "user " + nameOf(passwd, id)
		}
	}
	return ""
}

// accessList is the attribute of POSIX access control lists.
const accessList = "system.posix_acl_access"

func listed(fd int) bool {
	n, err := unix.Fgetxattr(fd, accessList, nil)
	return err == nil && n > 0
}

func listedAt(path string) bool {
	n, err := unix.Lgetxattr(path, accessList, nil)
	return err == nil && n > 0
}
