package stats

import (
	"strings"
	"time"
)

// A ProgramEvent is something that the program which consumes batches has told of
// itself: a span of its own, or, with a Value, a number at a moment.
type ProgramEvent struct {
	Name   string
	Thread string // of the program, which has a line of its own
	Begin  time.Time
	Took   time.Duration
	Value  *float64
}

// programTrack begins the stage of the program's threads.
const programTrack = "program\x00"

// Program writes events of the program. Many may come at once, so it waits if they come
// faster than they are written.
func (t *Trace) Program(events []ProgramEvent) {
	for i := range events {
		e := &events[i]
		k := t.track(thread{programTrack + e.Thread, 0}, true)
		if e.Begin.Add(e.Took).Before(t.began) {
			continue
		}
		d := k.desk
		d.mu.Lock()
		for !d.closed && !t.room(d) {
			d.mu.Unlock()
			time.Sleep(time.Millisecond) // until the writer has given back a chunk
			d.mu.Lock()
		}
		if !d.closed {
			d.now.text = t.appendProgram(d.now.text, k, e)
			d.now.events++
		}
		d.mu.Unlock()
	}
}

func (t *Trace) appendProgram(b []byte, k *track, e *ProgramEvent) []byte {
	from, took := e.Begin.Sub(t.began), e.Took
	if from < 0 {
		from, took = 0, took+from
	}
	if e.Value != nil {
		return t.appendGauge(b, from, Gauge{Name: e.Name, Unit: "value", Value: *e.Value})
	}
	b = append(b, ",\n{\"ph\":\"X\",\"name\":"...)
	b = appendText(b, e.Name)
	b = append(b, ",\"cat\":\"program\",\"ts\":"...)
	b = appendMicros(b, from)
	b = append(b, ",\"dur\":"...)
	b = appendMicros(b, took)
	return append(t.appendPlace(b, k.tid), '}')
}

// programThread returns the name of a thread of the program, and false for other tracks.
func programThread(stage string) (name string, ok bool) {
	return strings.CutPrefix(stage, programTrack)
}
