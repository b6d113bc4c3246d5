package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/wire"
)

// tracing is the trace of a session's loader; its zero value: there is none.
type tracing struct {
	file *os.File
	stop func() (stats.TraceSummary, error)
}

// trace begins or ends one. That it cannot is an answer, too: the run goes on.
func (s *session) trace(f wire.Frame) error {
	var asked wire.Trace
	if err := parse(f, &asked); err != nil {
		return err
	}
	var sum stats.TraceSummary
	var err error
	if len(asked.Path) == 0 || string(asked.Path) == "null" {
		s.loader.TraceProgram(programEvents(asked.Events))
		sum, err = s.tracing.end()
	} else {
		err = s.tracing.begin(s.loader, asked.Path)
	}
	answer := wire.Traced{Events: sum.Events, Bytes: sum.Bytes, Dropped: sum.Dropped}
	if err != nil {
		reason := err
		if of := (*fs.PathError)(nil); errors.As(err, &of) {
			reason = of.Err // the client knows which file it asked for
		}
		answer.Error = machine.Unwritten(reason).Error()
		if number := syscall.Errno(0); errors.As(err, &number) {
			answer.Errno = int(number)
		}
	}
	return s.conn.SendJSON(wire.KindTraced, f.Stream, answer)
}

// traceWait records the wait that NEXT reports, if the client had said that it was
// waiting. Other waits take microseconds.
func (s *session) traceWait() {
	if took := time.Duration(s.next.Waited) * time.Microsecond; took > 0 && !s.asked.IsZero() {
		s.loader.TraceWait(s.asked, min(took, time.Since(s.asked)))
	}
	s.asked = time.Time{}
	if s.next.Waiting {
		s.asked = time.Now()
	}
}

func programEvents(all []wire.TraceEvent) []stats.ProgramEvent {
	events := make([]stats.ProgramEvent, len(all))
	for i, e := range all {
		took := time.Duration(min(max(e.Took, 0), int64(mostTook)))
		events[i] = stats.ProgramEvent{Name: e.Name, Thread: e.Thread, Begin: time.Unix(0, e.Begin), Took: took, Value: e.Value}
	}
	return events
}

// mostTook bounds what a program may say that something took.
const mostTook = 1000 * time.Hour

func (t *tracing) begin(l *headrace.Loader, path wire.Path) error {
	var name recipe.Path
	if err := json.Unmarshal(path, &name); err != nil {
		return fmt.Errorf("the name of the file: %w", err)
	}
	if t.stop != nil {
		return headrace.ErrTracing
	}
	// Nobody may read from a pipe, and then opening it would take for ever.
	file, err := os.OpenFile(string(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return err
	}
	stop, err := l.Trace(file)
	if err != nil {
		file.Close()
		return err
	}
	t.file, t.stop = file, stop
	return nil
}

// finish completes the files of the loader, and tells the client of those that cannot
// be, while it still listens.
func (s *session) finish() {
	s.loader.Stop()
	_, err := s.tracing.end()
	if err != nil {
		err = fmt.Errorf("the trace cannot be written: %w", machine.Unwritten(err))
	}
	if err = errors.Join(err, s.loader.Finish()); err != nil {
		s.note("trace", err.Error())
	}
}

// end completes the file, if there is one.
func (t *tracing) end() (stats.TraceSummary, error) {
	if t.stop == nil {
		return stats.TraceSummary{}, nil
	}
	sum, err := t.stop()
	if closed := t.file.Close(); err == nil {
		err = closed
	}
	*t = tracing{}
	return sum, err
}
