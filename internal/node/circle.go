package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// A Circle is the members that have something to tell under one name. Each of them
// listens at a socket of its own, and one of them is asked for all.
type Circle struct {
	folder, own string
	lock        locked // the member that is asked has locked its first byte
}

const circles = "circles"

// circled numbers the circles that this process has joined.
var circled atomic.Int64

// Join makes this process a member of a circle. It fails in a process that is alone.
func Join(name string) (*Circle, error) {
	f := met()
	if f == nil {
		return nil, errors.New("node: this process is alone")
	}
	c := &Circle{folder: f.file(circles, name)}
	if err := os.Mkdir(c.folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("node: %w", err)
	}
	if err := check(c.folder); err != nil {
		return nil, err
	}

	var err error
	if c.lock, err = openLocked(filepath.Join(c.folder, "asked"), os.O_CREATE); err != nil {
		return nil, err
	}
	c.own = filepath.Join(c.folder, fmt.Sprintf("%d-%d%s", os.Getpid(), circled.Add(1), socketEnding))
	os.Remove(c.own) // of a dead process that had this number
	return c, nil
}

const socketEnding = ".sock"

// Socket is the path of the socket at which this member has to listen.
func (c *Circle) Socket() string { return c.own }

// IsAsked reports whether this member is the one that is asked for all. It becomes it if
// none is, and stays it until Close.
func (c *Circle) IsAsked() bool { return c.lock.lock(0) == nil }

// Others returns the paths of the other members' sockets. Some may be of dead processes,
// and refuse connections: Forget removes these.
func (c *Circle) Others() (paths []string) {
	entries, _ := os.ReadDir(c.folder)
	for _, e := range entries {
		if path := filepath.Join(c.folder, e.Name()); strings.HasSuffix(path, socketEnding) && path != c.own {
			paths = append(paths, path)
		}
	}
	return paths
}

// Forget removes the socket of a dead member.
func (c *Circle) Forget(path string) { os.Remove(path) }

// Close leaves the circle.
func (c *Circle) Close() {
	os.Remove(c.own)
	c.lock.close()
}
