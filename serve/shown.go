package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/preview"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/live"
	"github.com/headrace/headrace/wire"
)

// shown is a session's loader on the page of this process, and in headrace top.
type shown struct {
	is     atomic.Pointer[live.Watched] // nil: it is not shown
	what   live.Loader
	newest *preview.Newest
}

// show has the loader shown until the session ends.
func (s *session) show() {
	if s.shown.is.Load() == nil {
		s.shown.is.Store(live.Watch(s.shown.what))
	}
}

// describeShown notes how the loader is shown, if it is.
func (s *session) describeShown(name string, open wire.Open, c headrace.Config, info headrace.Info) {
	s.shown.newest = preview.NewestOf(s.loader)
	s.shown.what = live.Loader{
		Name: name, Program: open.Program, PID: s.engine.trainer, Rank: c.Rank, Ranks: c.WorldSize,
		Stats: s.looped, Batches: info.BatchesPerEpoch, Epochs: info.Epochs, Sample: s.shown.newest.Next,
		Steps: func(ctx context.Context, epoch int) ([]live.Step, error) {
			return preview.Steps(ctx, s.loader.Recipe(), headrace.Options{Gate: s.engine.gate}, epoch)
		},
	}
}

// openShown shows the loader, and opens its page, if the client asks for that. Of the
// ranks of a machine the first has a page, which shows the others, too.
func (s *session) openShown(open wire.Open, c headrace.Config, told *openedAnswer) (err error) {
	if open.Page == nil && open.Metrics == "" {
		return nil
	}
	s.show()
	if open.Page != nil && c.Rank%max(1, c.LocalWorldSize) == 0 {
		told.Page, err = s.openPage(open.Page.Port)
	}
	return err
}

// openPage serves the page at a port, and returns its address. That it cannot be is no
// reason to end.
func (s *session) openPage(port int) (address string, err error) {
	s.show()
	return live.Serve(port)
}

// answerPage opens the page of a loader that runs, if it is not open, for a client that
// asks for its address.
func (s *session) answerPage(f wire.Frame) error {
	var asked wire.Page
	if err := parse(f, &asked); err != nil {
		return err
	}
	address, err := s.openPage(asked.Port)
	told := wire.Paged{Address: address}
	if err != nil {
		told.Error = err.Error()
	}
	return s.conn.SendJSON(wire.KindPaged, f.Stream, told)
}

// took counts a batch that the client took.
func (h *shown) took(epoch int, step, samples int64) {
	if w := h.is.Load(); w != nil {
		w.Took(epoch, step, samples)
	}
}

func (h *shown) waited(d time.Duration) {
	if w := h.is.Load(); w != nil {
		w.Waited(d)
	}
}

func (h *shown) lost(l headrace.Lost) {
	if w := h.is.Load(); w != nil {
		step := report.Step(l.Err)
		if step == "" {
			step = l.Stage
		}
		w.Lost(live.Failure{Key: l.Key, Index: l.ID.Index, Epoch: l.ID.Epoch, Stage: step, Error: l.Cause().Error(), Replaced: l.Replaced})
	}
}

func (h *shown) note(code, message string) {
	if w := h.is.Load(); w != nil {
		w.Note(code, message)
	}
}

func (h *shown) end() {
	if w := h.is.Load(); w != nil {
		w.Close()
	}
}
