package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestUnwritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	_, refused := full.WriteString("x")
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "write /dev/full: no space left on device; the file system is full: free some space, or write elsewhere"},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.EFBIG}, "raise the limit (ulimit -f), or write elsewhere"},
		{syscall.EDQUOT, "quota"},
		{syscall.EROFS, "read-only: write elsewhere"},
		{syscall.EIO, "the disk fails"},
	} {
		got := Unwritten(c.err)
		if !errors.Is(got, c.err) || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%v: %v", c.err, got)
		}
		if again := Unwritten(got); again != got {
			t.Errorf("told twice: %v", again)
		}
	}
	_, missing := os.Create(filepath.Join(t.TempDir(), "none", "file"))
	for _, err := range []error{nil, missing, errors.New("other")} {
		if got := Unwritten(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
