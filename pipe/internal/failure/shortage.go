package failure

import (
	"errors"
	"io/fs"
	"syscall"
)

// Shortage tells whether an error says that the machine lacks something. Then every item
// would fail, so a policy that skips failures would empty an epoch in silence.
func Shortage(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	switch number {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ENOSPC, syscall.EDQUOT:
		return true
	case syscall.EAGAIN: // elsewhere it says that a descriptor does not block
		var start *fs.PathError
		return errors.As(err, &start) && start.Op == "fork/exec"
	}
	return false
}
