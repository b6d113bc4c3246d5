//go:build cgo

package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// What the machine lacks ends the run; what is wrong with a sample is the sample's.
func TestErrorsOfTheMachineAreNoSamples(t *testing.T) {
	it := &record.Record{Source: &record.Source{}, Key: "x"}
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.ENODEV} {
		err := core.Blame(it, &os.PathError{Op: "open", Path: "x", Err: number})
		var short *machine.Shortage
		var bad *sample.Error
		if !pipe.Stops(err) || !errors.As(err, &short) || short.Remedy == "" || errors.As(err, &bad) || !errors.Is(err, number) {
			t.Errorf("%v: %v", number, err)
		}
	}
	for _, number := range []syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.EIO, syscall.ELOOP, syscall.EISDIR, syscall.EFBIG, syscall.ESTALE} {
		err := core.Blame(it, &os.PathError{Op: "open", Path: "x", Err: number})
		var bad *sample.Error
		if pipe.Stops(err) || !errors.As(err, &bad) {
			t.Errorf("%v: %v", number, err)
		}
	}
	if err := core.Blame(it, &arena.RefusedError{Call: "mmap", Err: syscall.ENOMEM}); !pipe.Stops(err) {
		t.Error(err)
	}
}

// Reading waits for what others give back, and gives up only when no sample at all gets
// through.
func TestReadingWaitsForTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, it := &core.Env{}, &record.Record{}
		began := time.Now()
		tries := 0
		n, err := Patiently(t.Context(), w, it, func() (int64, error) {
			if tries++; time.Since(began) < 20*time.Second {
				if tries%20 == 0 {
					w.Reads.Add(1) // another sample
				}
				return 0, syscall.EMFILE
			}
			return 7, nil
		})
		if n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		began = time.Now()
		if _, err := Patiently(t.Context(), w, it, func() (int64, error) { return 0, syscall.ENOMEM }); err != syscall.ENOMEM {
			t.Error(err)
		}
		if took := time.Since(began); took < LackForAll || took > LackForAll+time.Second {
			t.Errorf("gave up after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Patiently(ctx, w, it, func() (int64, error) { return 0, syscall.ENFILE }); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if _, err := Patiently(t.Context(), w, it, func() (int64, error) { return 0, syscall.ENOENT }); err != syscall.ENOENT {
			t.Error(err)
		}
	})
}

// One missing file is a bad sample. Where all are missing, the folder is, and that is no
// sample's fault.
func TestAFolderThatIsGoneIsNoBadSample(t *testing.T) {
	for _, n := range []int{1, 2, 3, 40} {
		root, paths := folderOfFiles(t, max(2, n))
		if n == 1 {
			os.Remove(paths[1])
			paths = paths[:1]
		}
		var f input.Files
		for _, path := range paths {
			f.Paths = append(f.Paths, recipe.Path(path))
		}
		list, err := newFiles(t.Context(), f, nil, shard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		missing := func(i int64) error {
			_, err := store.Open(t.Context(), list.Table.Path(int(i)), 0)
			return err
		}
		os.Remove(paths[n/2])
		err = missing(int64(n / 2))
		if err == nil || list.PlaceGone(t.Context(), int64(n/2), err) {
			t.Errorf("one of %d files: %v", n, err)
		}
		if err := os.Rename(root, root+"-gone"); err != nil {
			t.Fatal(err)
		}
		for i := range int64(n) {
			if err := missing(i); !list.PlaceGone(t.Context(), i, err) {
				t.Errorf("all of %d files: %v", n, err)
			}
		}
	}
}

// folderOfFiles makes files that nobody decodes.
func folderOfFiles(t *testing.T, n int) (root string, paths []string) {
	root = filepath.Join(t.TempDir(), "files")
	for i := range n {
		path := filepath.Join(root, fmt.Sprintf("%03d", i))
		paths = append(paths, path)
		if err := errors.Join(os.MkdirAll(root, 0o755), os.WriteFile(path, []byte("file"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root, paths
}
