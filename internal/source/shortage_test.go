//go:build cgo

package source

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
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
		tries = 0
		patient := func() (int64, error) { // as a store is
			tries++
			time.Sleep(2 * time.Minute)
			return 0, syscall.ETIMEDOUT
		}
		if _, err := Patiently(t.Context(), w, it, patient); err != syscall.ETIMEDOUT || tries != 1 {
			t.Errorf("%v, after %d tries", err, tries)
		}
	})
}
