package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/headrace/headrace/wire"
)

// handler carries out one kind of task. It has one result, or fails.
type handler struct {
	prepare func(t *task) error
	inputs  int // how many it takes; -1: any number
	run     func(s *ioSession, ctx context.Context) (*result, error)
}

// handlers are all handlers by the names of their tasks.
var handlers = map[string]handler{}

func handlerNames() string {
	var all []string
	for name := range handlers {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// stream is media or a file that stays open from task to task.
type stream interface {
	// close gives back what it holds, and removes what is not complete.
	close()
}

// endStream closes the open stream, if there is one.
func (s *ioSession) endStream() {
	if s.stream != nil {
		s.stream.close()
		s.stream = nil
	}
}

// setStream opens a stream, and closes the one before it.
func (s *ioSession) setStream(with stream) {
	s.endStream()
	s.stream = with
}

// handle runs a handler.
func (s *ioSession) handle(ctx context.Context, d handler) (*result, []wire.Failure, error) {
	if n := len(s.message.Inputs); d.inputs >= 0 && n != d.inputs {
		return nil, nil, fmt.Errorf("%w: a task of %d inputs has %d", wire.ErrProtocol, d.inputs, n)
	}
	if limit := s.task.limit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errLate{limit})
		defer cancel()
	}
	r, err := d.run(s, ctx)
	if err == nil {
		return r, nil, nil
	}
	f := failure(nil, err)
	// A disk that is full is no lack of the machine's: no other time is better.
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			f.Code, f.Errno = wire.CodeSample, int(full)
		}
	}
	return nil, []wire.Failure{f}, nil
}
