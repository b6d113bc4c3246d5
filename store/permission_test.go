package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"

	"golang.org/x/sys/unix"
)

// asNobody runs f with the file permissions of a user who owns nothing. Root reads
// everything, so these tests would pass whatever the code does. It is the thread that
// changes its user, for file access only, so the rest of the process keeps its own.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f() // permissions hold already
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setfsuid(65534); err != nil {
			done <- err
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// guarded returns a folder that everybody can enter, with some in it that nobody can.
func guarded(t *testing.T) string {
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plant(t, root, "open/x.jpg", "shut/x.jpg", "blind/sub/x.jpg", "blind/y.jpg", "listed/x.jpg", "listed/deep/y.jpg", "secret.jpg")
	for name, mode := range map[string]os.FileMode{"shut": 0, "blind": 0o111, "listed": 0o444, "secret.jpg": 0} {
		path := filepath.Join(root, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o755) })
	}
	return root
}

func TestUnreadableFoldersAreErrors(t *testing.T) {
	root := guarded(t)
	before := openFiles(t)
	asNobody(t, func() {
		if _, err := os.ReadDir(root + "/shut"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the test tests nothing: %v", err)
		}
		for _, c := range []struct{ pattern, want string }{
			{"*/*.jpg", `store: list "*/*.jpg": folder "blind/": permission denied`},
			{"**/*.jpg", `store: list "**/*.jpg": folder "blind/": permission denied`},
			{"shut", `store: list "shut": folder "shut/": permission denied`},
			{"shut/*", `store: list "shut/*": folder "shut/": permission denied`},
			{"shut/x.jpg", `store: list "shut/x.jpg": permission denied`},
			{"[s]*/x.jpg", `store: list "[s]*/x.jpg": "shut/x.jpg": permission denied`},
			{"listed/deep/*", `store: list "listed/deep/*": folder "listed/deep/": permission denied`},
			{"listed/**", `store: list "listed/**": folder "listed/deep/": permission denied`},
		} {
			_, err := store.List(context.Background(), root, c.pattern, []string{".jpg"})
			if err == nil || err.Error() != c.want || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%q:\ngot  %v\nwant %s", c.pattern, err, c.want)
			}
		}
	})
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open, %d are", before, after)
	}
}

// What need not be read is not.
func TestFoldersThatAreNotReadMayBeUnreadable(t *testing.T) {
	root := guarded(t)
	asNobody(t, func() {
		for _, c := range []struct{ pattern, want string }{
			{"open/*", "open/x.jpg"},
			{"o*/*.jpg", "open/x.jpg"},
			{"bl*/y.jpg", "blind/y.jpg"},
			{"blind/y.jpg", "blind/y.jpg"},
			{"blind/sub/*", "blind/sub/x.jpg"},
			{"*.jpg", "secret.jpg"},
		} {
			table, err := store.List(context.Background(), root, c.pattern, nil)
			if err != nil {
				t.Errorf("%q: %v", c.pattern, err)
			} else if got := keys(table); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%q: %q", c.pattern, got)
			}
		}
	})
}

func TestUnreadableFile(t *testing.T) {
	root := guarded(t)
	asNobody(t, func() {
		_, err := store.ReadFile(root+"/secret.jpg", nil)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "secret.jpg") {
			t.Errorf("got %v", err)
		}
	})
}
