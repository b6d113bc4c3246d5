package pipe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A watchdog looks at a run from time to time.
type watchdog struct {
	*engine
	stall    Stall
	consumer *worker.Worker
	recorder *recorder

	moved    int64         // what had moved when it looked last
	since    time.Duration // when it was seen first that no more had
	reported bool          // this stall was reported
	workers  map[*worker.Worker]seen
}

// seen is what a worker had done, and when that was seen first.
type seen struct {
	done int64
	at   time.Duration
}

// looks is how often a watchdog looks in the time after which it tells.
const looks = 8

// watchdog lets one watch a run that has begun.
func (e *engine) watchdog(stall Stall, consumer *worker.Worker, r *recorder) {
	if !e.Watched {
		return
	}
	d := &watchdog{engine: e, stall: stall, consumer: consumer, recorder: r, workers: make(map[*worker.Worker]seen)}
	e.stop, e.over = make(chan struct{}), make(chan struct{})
	e.stopWatch = sync.OnceFunc(func() { close(e.stop) })
	go d.watch()
}

// endWatch waits for the watchdog, which may be telling something, but not longer than
// ctx.
func (e *engine) endWatch(ctx context.Context) {
	if e.over == nil {
		return
	}
	e.stopWatch()
	select {
	case <-e.over:
	case <-ctx.Done():
	}
}

func (d *watchdog) watch() {
	defer close(d.over)
	defer d.recorder.release()
	ticker := time.NewTicker(max(1, d.stall.After/looks))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.look()
		case <-d.stop:
			return
		case <-d.ctx.Done():
			return
		case <-d.Idle:
			return
		}
	}
}

// look tells of a stall when it has lasted long enough.
func (d *watchdog) look() {
	now := d.Now()
	queues := d.queues()
	moved := int64(0)
	for _, q := range queues {
		moved += q.Gets + q.Puts
	}

	for _, s := range d.stages {
		for _, w := range s.Working() {
			done := w.Counts.Sum()
			moved += done
			if before, ok := d.workers[w]; !ok || before.done != done {
				d.workers[w] = seen{done, now}
			}
		}
	}

	if moved != d.moved {
		d.moved, d.since, d.reported = moved, now, false
	}
	if d.reported || now-d.since < d.stall.After {
		return
	}

	r := StallReport{For: now - d.since, Waiting: d.consumer.Waiting() != nil, Queues: queues}
	if r.Waiting && d.stall.Waits != nil {
		r.Waiting = d.stall.Waits()
	}

	hang := false
	for _, s := range d.stages {
		stalled := d.stalled(s, now)
		hang = hang || len(stalled.Operations) > 0
		r.Stages = append(r.Stages, stalled)
	}

	// A consumer at work may be why nothing moves: nothing hangs, or its queue is full.
	last := queues[len(queues)-1]
	if !r.Waiting && (!hang || last.Len >= last.Cap) {
		return
	}

	d.reported = true
	r.Stacks = d.stacks()
	r.Recording, r.Err = d.recorder.write(d.stall.Folder)
	if err := failure.InOwnGoroutine(func() error { d.stall.Report(r); return nil }); err != nil {
		d.Complain(fmt.Errorf("pipe: Config.Stall.Report: %w", err))
	}
}

// stalled says what the workers of a stage do.
func (d *watchdog) stalled(s *stage, now time.Duration) StalledStage {
	t := StalledStage{Name: s.name, Kind: s.kind}
	for _, w := range s.Working() {
		t.Workers++
		switch w.Waiting() {
		case nil:
			var o StalledOperation
			if before, ok := d.workers[w]; ok {
				o.For = now - before.at
			}
			if at := w.Heartbeat.At.Load() - 1; at >= 0 {
				o.Source, o.Pos, o.Epoch = d.Origins[progress.SourceOf(at)], progress.PositionOf(at), d.Epoch+int(w.Heartbeat.Epoch.Load())
			}
			t.Operations = append(t.Operations, o)
		case &w.Starved:
			t.Starved++
		case &w.Gated:
			t.Gated++
		default:
			t.Blocked++
		}
	}
	return t
}

// stacks are those of the run's goroutines.
func (d *watchdog) stacks() string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var ours []string
	for _, group := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(group, fmt.Sprintf(`"run":"%s"`, d.Label)) {
			ours = append(ours, group)
		}
	}
	return strings.Join(ours, "\n\n")
}

// A recorder keeps what the Go runtime did in the last seconds. All runs of a process
// share one.
type recorder struct {
	mu     sync.Mutex
	users  int
	flight *trace.FlightRecorder
}

var theRecorder recorder

// record begins to record, where that is asked for.
func (s Stall) record() (*recorder, error) {
	if s.Folder == "" {
		return nil, nil
	}
	r := &theRecorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users == 0 {
		r.flight = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 10 * time.Second, MaxBytes: 16 << 20})
		if err := r.flight.Start(); err != nil {
			return nil, fmt.Errorf("pipe: Config.Stall.Folder: %w", err)
		}
	}
	r.users++
	return r, nil
}

func (r *recorder) release() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.flight.Stop()
	}
}

// write writes what it has into a new file.
func (r *recorder) write(folder string) (path string, err error) {
	if r == nil {
		return "", nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.CreateTemp(folder, "stall-"+time.Now().UTC().Format("20060102-150405")+"-*.trace")
	if err != nil {
		return "", err
	}
	if _, err = r.flight.WriteTo(f); err == nil {
		err = f.Close()
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return "", err
	}
	return filepath.Clean(f.Name()), nil
}
