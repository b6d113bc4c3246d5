package machine

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, last := time.Now(), time.Second
		lacking := func() error {
			if time.Since(began) < last {
				return syscall.EMFILE
			}
			return nil
		}
		if err := Patiently(t.Context(), lacking); err != nil {
			t.Error(err)
		}
		began, last = time.Now(), time.Hour
		var short *Shortage
		if err := Patiently(t.Context(), lacking); !errors.As(err, &short) || !errors.Is(err, syscall.EMFILE) {
			t.Error(err)
		}
		if took := time.Since(began); took < 2*time.Second || took > 5*time.Second {
			t.Errorf("gave up after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began = time.Now()
		if err := Patiently(ctx, lacking); !errors.Is(err, syscall.EMFILE) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		tries := 0
		patient := func() error { tries++; time.Sleep(time.Minute); return syscall.EMFILE }
		if err := Patiently(t.Context(), patient); !errors.Is(err, syscall.EMFILE) || tries != 1 {
			t.Errorf("%v, after %d tries", err, tries)
		}
		began = time.Now()
		if err := Patiently(t.Context(), func() error { return syscall.ENOENT }); err != syscall.ENOENT || time.Since(began) > 0 {
			t.Error(err)
		}
	})
}
