package child

import (
	"context"
	"runtime"

	"github.com/headrace/headrace/internal/machine"
)

// Starter starts processes from one thread that lives as long as it does: the kernel ends
// a child when the thread that has started it ends (PR_SET_PDEATHSIG).
type Starter struct{ work chan func() }

// Open starts the thread.
func (s *Starter) Open() {
	s.work = make(chan func())
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	}()
}

// Close gives the thread up. The processes started from it must have ended.
func (s *Starter) Close() { close(s.work) }

// StartPatiently is Start, but waits a while if the machine is short of resources, until
// stop is closed.
func (s *Starter) StartPatiently(stop <-chan struct{}, o Options) (c *Child, err error) {
	o.stop = stop
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = machine.Patiently(ctx, func() error {
		c, err = s.Start(o)
		return err
	})
	return c, err
}

func (s *Starter) do(f func() error) (err error) {
	done := make(chan struct{})
	s.work <- func() {
		defer close(done)
		err = f()
	}
	<-done
	return err
}
