package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/wire"
)

// logQueue keeps what workers say until the client reads it. Who says something never
// waits: a function that prints must not hang, or be taken for one that does, because
// the trainer is busy. What comes beyond mostUnread is dropped, and counted.
type logQueue struct {
	tell  func(wire.Log) error
	roomy func() bool // the client has read most of what was sent

	mu      sync.Mutex
	lines   []wire.Log
	bytes   int
	dropped map[string]int64 // by stage
	more    chan struct{}    // a token when there is something to be sent

	sending sync.Mutex // held from taking lines until they are sent, so that they are sent in order
}

const (
	mostUnread = 1 << 20 // bytes of lines that wait
	lineBytes  = 128     // that a line takes besides its text
)

func newLogQueue(tell func(wire.Log) error, roomy func() bool) *logQueue {
	return &logQueue{tell: tell, roomy: roomy, dropped: map[string]int64{}, more: make(chan struct{}, 1)}
}

// add notes a line.
func (b *logQueue) add(l extern.Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if size := len(l.Message) + lineBytes; b.bytes+size <= mostUnread {
		b.lines = append(b.lines, wire.Log{Stage: l.Stage, Level: l.Level, Logger: l.Logger, Message: l.Message})
		b.bytes += size
	} else {
		b.dropped[l.Stage]++
	}
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// take returns all that waits, and at its end how much does not.
func (b *logQueue) take() []wire.Log {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	for _, stage := range slices.Sorted(maps.Keys(b.dropped)) {
		message := fmt.Sprintf("%d messages dropped: the program did not read them in time", b.dropped[stage])
		lines = append(lines, wire.Log{Stage: stage, Level: "WARNING", Logger: "headrace", Message: message})
	}
	b.lines, b.bytes = nil, 0
	clear(b.dropped)
	return lines
}

// run sends records as fast as the client reads them, so that they never fill the socket
// that batches need. It ends with the context or the connection.
func (b *logQueue) run(ctx context.Context) {
	for {
		select {
		case <-b.more:
		case <-ctx.Done():
			return
		}
		if b.send(func() bool { return b.room(ctx) }) != nil {
			return
		}
	}
}

// room waits until there is room in the socket; false: the context has ended.
func (b *logQueue) room(ctx context.Context) bool {
	for !b.roomy() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// flush sends what waits, and waits for the client to read it.
func (b *logQueue) flush() error { return b.send(func() bool { return true }) }

func (b *logQueue) send(may func() bool) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	for _, l := range b.take() {
		if !may() {
			return context.Canceled
		}
		if err := b.tell(l); err != nil {
			return err
		}
	}
	return nil
}
