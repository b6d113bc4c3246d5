package machine

import (
	"errors"
	"fmt"
	"syscall"
)

// Shortage says that the machine lacks something, or has lost it: no sample is to
// blame, so none may be skipped, replaced or listed as bad for it.
type Shortage struct {
	Err    error
	Remedy string // what to do
}

func (e *Shortage) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Remedy) }

func (e *Shortage) Unwrap() error { return e.Err }

// Blame says whose fault a system's error is when a file is read, or something is
// started.
type Blame int

// The kinds of blame.
const (
	BlameItem    Blame = iota // the file's own, or no error of the system at all
	BlamePlace                // the file's, unless the others have it too: then their folder, mount or disk is gone
	BlameMachine              // the machine's, whatever the file
)

type shortage struct {
	blame  Blame
	remedy string
}

const (
	moreFiles  = "this process has no file descriptors left: raise the limit (ulimit -n), or use fewer workers"
	noMemory   = "the machine, its cgroup or a limit (ulimit -v) has no memory left: use fewer workers or less memory="
	noSpace    = "the file system is full: free some space"
	noServer   = "the server or device does not answer: see whether it can be reached, or is mounted, and go on from the state"
	wholePlace = "and so it is with the others that were tried: see whether the folder is still there, " +
		"mounted and readable, and go on from the state"
)

// shortages are the errors that are not, or not always, a file's own. What is not here
// says something of the one file: ELOOP, ENAMETOOLONG, EISDIR, EFBIG, EINVAL and the
// like.
var shortages = map[syscall.Errno]shortage{
	syscall.EMFILE:  {BlameMachine, moreFiles},
	syscall.ENFILE:  {BlameMachine, "the machine has no file descriptors left: raise fs.file-max"},
	syscall.ENOMEM:  {BlameMachine, noMemory},
	syscall.ENOBUFS: {BlameMachine, noMemory},
	syscall.EAGAIN: {BlameMachine, "no more processes may be started, or no resources are left: " +
		"raise the limit (ulimit -u, or pids.max of the cgroup), or use fewer workers"},
	syscall.ENOLCK: {BlameMachine, "the machine has no locks left"},

	syscall.ENOSPC: {BlameMachine, noSpace},
	syscall.EDQUOT: {BlameMachine, "the quota of the file system is used up: free some space"},
	syscall.EROFS:  {BlameMachine, "the file system has become read-only: see the kernel's log for errors of the disk"},

	syscall.ETIMEDOUT:    {BlameMachine, noServer},
	syscall.ENOTCONN:     {BlameMachine, noServer}, // FUSE, whose process has ended
	syscall.ECONNABORTED: {BlameMachine, noServer},
	syscall.ECONNREFUSED: {BlameMachine, noServer},
	syscall.ECONNRESET:   {BlameMachine, noServer},
	syscall.EHOSTDOWN:    {BlameMachine, noServer},
	syscall.EHOSTUNREACH: {BlameMachine, noServer},
	syscall.ENETDOWN:     {BlameMachine, noServer},
	syscall.ENETUNREACH:  {BlameMachine, noServer},
	syscall.ESHUTDOWN:    {BlameMachine, noServer},
	syscall.ENODEV:       {BlameMachine, noServer},
	syscall.ENOMEDIUM:    {BlameMachine, noServer},
	syscall.ENOLINK:      {BlameMachine, noServer},
	syscall.EREMOTEIO:    {BlameMachine, noServer},

	syscall.EIO:     {BlamePlace, wholePlace}, // a bad sector, or a disk that is gone
	syscall.EUCLEAN: {BlamePlace, wholePlace},
	syscall.EBADMSG: {BlamePlace, wholePlace},
	syscall.ESTALE:  {BlamePlace, wholePlace}, // of NFS: a file that was replaced, or an export that is gone
	syscall.ENOENT:  {BlamePlace, wholePlace},
	syscall.ENOTDIR: {BlamePlace, wholePlace},
	syscall.EACCES:  {BlamePlace, wholePlace},
	syscall.EPERM:   {BlamePlace, wholePlace},
}

// BlameOf says whose fault an error is.
func BlameOf(err error) Blame { return shortageOf(err).blame }

// NoServer tells whether an error says that a server, or a device, does not answer.
func NoServer(err error) bool { return shortageOf(err).remedy == noServer }

// Short makes an error a [Shortage] where it blames the machine. Others are returned as
// they are.
func Short(err error) error {
	var known *Shortage
	if s := shortageOf(err); s.blame == BlameMachine && !errors.As(err, &known) {
		return &Shortage{err, s.remedy}
	}
	return err
}

// ShortPlace makes an error one of the place where the file was, after all: others have
// it too.
func ShortPlace(err error) error { return &Shortage{err, shortageOf(err).remedy} }

func shortageOf(err error) shortage {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return shortage{}
	}
	return shortages[number]
}
