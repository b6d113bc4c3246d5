package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/headrace/headrace/store"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	rapid.Check(t, func(t *rapid.T) {
		want := make([]byte, rapid.OneOf(rapid.IntRange(0, 70), rapid.IntRange(4090, 4100), rapid.IntRange(0, 1<<20)).Draw(t, "size"))
		for i := range want {
			want[i] = byte(i * 7)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, rapid.IntRange(0, 5000).Draw(t, "used"), 5000)
		got, err := store.ReadFile(path, buf)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
		}
		if fits := len(want) < cap(buf); fits && len(got) > 0 && &got[0] != &buf[:1][0] {
			t.Fatal("the buffer was large enough and was not used")
		}
	})
}

func TestReadAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := store.Local{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(io.NewSectionReader(f, 0, f.Size()), []byte("0123456789")); err != nil {
		t.Error(err)
	}
	var b [4]byte
	if n, err := f.ReadAt(b[:], 8); n != 2 || err != io.EOF || string(b[:2]) != "89" {
		t.Errorf("%d bytes %q after the end, %v", n, b, err)
	}
	f.Close()
	if _, err := f.ReadAt(b[:], 0); err == nil || err == io.EOF {
		t.Errorf("a closed file gives %v", err)
	}
}

func TestReadIntoAWarmBufferAllocatesLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	buf, err := store.ReadFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { buf, err = store.ReadFile(path, buf) }); err != nil || n > 2 {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func TestRelativeNamesBelongToTheRoot(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "a/b")
	for _, name := range []string{"a/b", root + "/a/b", "a/../a/b"} {
		for _, r := range []string{root, root + "/"} {
			got, err := store.Local{Root: r}.Read(context.Background(), name, nil)
			if string(got) != "a/b" || err != nil {
				t.Errorf("%q: %q, %v", name, got, err)
			}
		}
	}
}

// None of these may be waited for: a pipe without a writer would keep its reader for
// ever.
func TestWhatIsNoFileIsRefused(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "folder/", "to pipe -> pipe")
	if err := unix.Mkfifo(root+"/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", root+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := openFiles(t)
	for name, kind := range map[string]string{
		"folder": " but a folder", "pipe": " but a pipe", "to pipe": " but a pipe", "socket": "",
		"/dev/null": " but a device", "/dev/zero": " but a device",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := store.Local{Root: root}.Read(context.Background(), name, nil)
			done <- err
		}()
		select {
		case err := <-done:
			if want := `store: read "` + name + `": store: not a regular file` + kind; !errors.Is(err, store.ErrNotRegular) || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: hangs", name)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open, %d are", before, after)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := store.ReadFile("/nowhere/a.jpg", nil)
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != `store: read "/nowhere/a.jpg": no such file or directory` {
		t.Error(err)
	}
	if _, err := store.ReadFile("a\x00b", nil); err == nil {
		t.Error("a name with a zero byte was read")
	}
}

// Between the moment at which a file's size is known and the moment at which it is
// read, others may write.
func TestFilesThatChangeTheirSize(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int
		limit         int64
		fails         bool
	}{
		{"grows", 1000, 100_000, 0, false},
		{"grows from nothing", 0, 5000, 0, false},
		{"shrinks", 100_000, 1000, 0, false},
		{"vanishes", 100_000, 0, 0, false},
		{"grows up to the limit", 1000, 5000, 5000, false},
		{"grows beyond the limit", 1000, 5001, 5000, true},
	} {
		path := filepath.Join(t.TempDir(), "file")
		write := func(n int) {
			if err := os.WriteFile(path, bytes.Repeat([]byte{'x'}, n), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(c.before)
		f, err := store.Local{MaxBytes: c.limit}.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Size() != int64(c.before) {
			t.Errorf("%s: Size is %d", c.name, f.Size())
		}
		write(c.after)
		got, err := f.Read(make([]byte, 0, 100))
		f.Close()
		switch {
		case c.fails:
			if !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "the limit is 5000, raise it with max_bytes") {
				t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
			}
		case err != nil || len(got) != c.after:
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
}

func TestSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	if got, err := (store.Local{MaxBytes: 1000}).Read(context.Background(), path, nil); err != nil || len(got) != 1000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err := store.Local{MaxBytes: 999}.Read(context.Background(), path, nil)
	if want := `store: read "` + path + `": store: file too large: 1000 bytes; the limit is 999, raise it with max_bytes`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	// The size of what a system makes up is said to be 0.
	if got, err := store.ReadFile("/proc/self/status", nil); err != nil || !bytes.HasPrefix(got, []byte("Name:")) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := (store.Local{MaxBytes: 10}).Read(context.Background(), "/proc/self/status", nil); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open, %d are", before, after)
	}
}

func TestReadAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (store.Local{}).Read(ctx, "/proc/self/status", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A file of holes is as large as anybody likes, and takes nothing on the disk. Its
// beginning can be read without memory for all of it.
func TestAFileOfHolesIsNotTakenAtItsWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holes")
	if err := os.WriteFile(path, []byte("a header"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	f, err := store.Local{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf, ended, err := f.ReadOn(nil, 1<<16)
	if err != nil || ended || len(buf) < 1<<16 || cap(buf) > 1<<20 || !bytes.HasPrefix(buf, []byte("a header\x00")) {
		t.Errorf("%d bytes in memory of %d, %v, %v", len(buf), cap(buf), ended, err)
	}
	buf, ended, err = f.ReadOn(buf, 5<<20)
	if err != nil || ended || len(buf) < 5<<20 || cap(buf) > 16<<20 {
		t.Errorf("%d bytes in memory of %d, %v, %v", len(buf), cap(buf), ended, err)
	}
	if _, err := (store.Local{MaxBytes: 1 << 30}).Read(context.Background(), path, nil); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
