package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"headrace/wire"
)

// doing is something to do of which only its own file knows. It has one result, or fails.
type doing struct {
	prepare func(e *errand) error
	inputs  int // how many it takes; -1: any number
	do      func(s *errands, ctx context.Context) (*result, error)
}

// doings are all of them, by their names.
var doings = map[string]doing{}

func doingNames() string {
	var all []string
	for name := range doings {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// standing is what goes on from task to task.
type standing interface {
	// close gives back what it holds, and removes what is not complete.
	close()
}

// end lets go of what goes on.
func (s *errands) end() {
	if s.standing != nil {
		s.standing.close()
		s.standing = nil
	}
}

// goOn has something go on instead of what did.
func (s *errands) goOn(with standing) {
	s.end()
	s.standing = with
}

// further carries out one of the doings.
func (s *errands) further(ctx context.Context, d doing) (*result, []wire.Failure, error) {
	if n := len(s.task.Inputs); d.inputs >= 0 && n != d.inputs {
		return nil, nil, fmt.Errorf("%w: a task of %d inputs has %d", wire.ErrProtocol, d.inputs, n)
	}
	if limit := s.what.limit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errLate{limit})
		defer cancel()
	}
	r, err := d.do(s, ctx)
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
