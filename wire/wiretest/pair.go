// Package wiretest has connections for tests of those who talk over them.
package wiretest

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/wire"
)

// Pair returns both ends of a connection, which the end of the test closes.
func Pair(t testing.TB) (*wire.Conn, *wire.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*wire.Conn
	for i, fd := range fds {
		if ends[i], err = wire.FromDescriptor(fd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ends[i].Close()
			ends[i].CloseDescriptors()
		})
	}
	return ends[0], ends[1]
}
