package depth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestNoMoreEnterThanTheLimitAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limit{Ahead: 2, Batch: 3}
		l.Begin()
		ctx, cancel := context.WithCancel(t.Context())
		tickets, ended := make(chan Ticket, 100), make(chan error, 1)
		go func() {
			for {
				one, err := l.Enter(ctx)
				if err != nil {
					ended <- err
					return
				}
				tickets <- one
			}
		}()
		for _, step := range []struct {
			what string
			do   func()
			want int
		}{
			{"at first", func() {}, 2},
			{"the loop waits", func() { l.Wait(true) }, 5},
			{"it has its batch", func() { l.Wait(false) }, 5},
			{"which it takes", func() {
				var batch Ticket
				for range 3 {
					one := <-tickets
					batch.Join(&one)
					one.Leave() // it is the batch's
				}
				batch.Leave()
				batch.Leave()
			}, 2},
			{"the loop waits again", func() { l.Wait(true) }, 5},
			{"and takes what it waited for", func() {
				var batch Ticket
				for range 3 {
					one := <-tickets
					batch.Join(&one)
				}
				batch.OnTaken()()
			}, 2},
			{"a sample is dropped", func() { one := <-tickets; one.Leave() }, 2},
			{"none is", func() { new(Ticket).Leave() }, 2},
		} {
			step.do()
			synctest.Wait()
			if len(tickets) != step.want {
				t.Errorf("%s: %d are on their way, want %d", step.what, len(tickets), step.want)
			}
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Enter ends with %v", err)
		}
	})
}

// An operation that a run has abandoned gives its ticket back in the next one.
func TestTicketsBelongToTheirRun(t *testing.T) {
	l := &Limit{Ahead: 1}
	l.Begin()
	late, _ := l.Enter(t.Context())
	l.Begin()
	first, err := l.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late.Leave()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := l.Enter(ctx); err != context.DeadlineExceeded {
		t.Errorf("a ticket of the run before makes room in this one: %v", err)
	}
	first.Leave()
}
