package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// ErrChanged marks an object that is not what it was when it was found.
var ErrChanged = errors.New("store: changed")

// ErrNoListing marks a store that cannot say which objects it has; see [Unlisted].
var ErrNoListing = errors.New("store: cannot be listed")

// Store has objects: files of a machine, or what a service keeps under names, which is
// read from any place in it. Its methods may be called by several goroutines at once.
//
// [Local] is the store of names without a scheme; [Register] adds others. A store that
// can be written to is a [Writer], too.
//
// An error that wraps a [syscall.Errno] of the network, such as ECONNREFUSED or
// ETIMEDOUT, is no sample's fault: readers wait and try again, and then the run ends.
type Store interface {
	// Objects yields the objects whose names begin with prefix, by the bytes of their
	// names, or else in the order of the service. An object "a" does not hide one "a/b".
	Objects(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Stat returns the object of a name. Where there is none, the error is
	// [io/fs.ErrNotExist].
	Stat(ctx context.Context, name string) (Object, error)
	// ReadAt fills p with the bytes of an object from at on, all of them from this
	// version; if it has another one by now, the error is [ErrChanged]. Where the object
	// ends before, it is io.ErrUnexpectedEOF.
	ReadAt(ctx context.Context, o Object, p []byte, at int64) error
}

// Beginning is a store that sends the first bytes of an object along with its size and
// version, so that small objects take one request.
type Beginning interface {
	Store
	// Begin is Stat, and fills first with the bytes at the object's beginning: n of them,
	// which may be fewer than there are.
	Begin(ctx context.Context, name string, first []byte) (o Object, n int, err error)
}

// Unlisted is a store whose objects cannot be listed, only read by their names, in which
// no character is a wildcard. Its Objects yields [ErrNoListing].
type Unlisted interface {
	Store
	Unlisted()
}

// Telling is a store that tells how it is reached, for headrace doctor: without secrets.
type Telling interface {
	Store
	Tell(ctx context.Context, name string) []Fact
}

// Fact is a setting and its value.
type Fact struct{ Name, Says string }

// Object is what a store has under a name. Other contents have another version, whenever
// and in whatever store they had this name.
type Object struct {
	Name    string
	Size    int64
	Version string
}

// MostAtOnce is the number of requests that may be sent to a host at once, and of files
// of stores that are read at once.
const MostAtOnce = 128

var (
	mu     sync.RWMutex // guards what is below
	stores = map[string]Store{}
)

// Register makes s the store of names that begin with scheme and "://", everywhere: in
// recipes, in commands, for what reads or decodes a file. It is called once, by an init
// function or at the beginning of a program.
func Register(scheme string, s Store) {
	mu.Lock()
	defer mu.Unlock()
	name, _, valid := Scheme(scheme + "://")
	if _, taken := stores[scheme]; taken || !valid || name != scheme || scheme == file {
		panic(fmt.Sprintf("store: the scheme %q is taken, or can have no store: must be "+
			"two lower-case letters or more, digits, +, - or .", scheme))
	}
	stores[scheme] = s
}
