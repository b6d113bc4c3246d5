package machine

import (
	"errors"
	"syscall"
)

// remedies are what to do where a file cannot be written.
var remedies = map[syscall.Errno]string{
	syscall.ENOSPC: "the file system is full: free some space, or write elsewhere",
	syscall.EDQUOT: "the quota of the file system is used up: free some space, or write elsewhere",
	syscall.EFBIG:  "files may not become larger than this: raise the limit (ulimit -f), or write elsewhere",
	syscall.EROFS:  "the file system is read-only: write elsewhere, or see the kernel's log for errors of the disk",
	syscall.EIO:    "the disk fails: see the kernel's log, and write elsewhere",
}

// Unwritten adds what to do to the error of a file that was being written. Where there
// is nothing to say, it is returned as it is.
func Unwritten(err error) error {
	var number syscall.Errno
	var known *Shortage
	if !errors.As(err, &number) || errors.As(err, &known) || remedies[number] == "" {
		return err
	}
	return &Shortage{err, remedies[number]}
}
