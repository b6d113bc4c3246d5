package serve

import (
	"errors"
	"io/fs"
	"log/slog"
	"syscall"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/wire"
)

// codedError is an error with the code of its cause.
type codedError struct {
	code wire.Code
	error
}

func (e codedError) Unwrap() error { return e.error }

func coded(code wire.Code, err error) error { return codedError{code, err} }

func code(err error) wire.Code {
	var known codedError
	var held *arena.HeldError
	var bad *sample.Error
	var mistake *recipe.Error
	var start *extern.StartError
	var short *machine.Shortage
	var setting *headrace.Mistake

	// The first match counts: a lack of memory comes before the errors that wrap it.
	switch {
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &short) && errors.Is(err, syscall.ENOMEM):
		return wire.CodeMemory
	case errors.As(err, &short):
		return wire.CodeSource
	case errors.As(err, &start), errors.As(err, &mistake), errors.As(err, &setting):
		return wire.CodeRecipe
	case errors.Is(err, wire.ErrProtocol):
		return wire.CodeProtocol
	case errors.As(err, &held):
		return wire.CodeHeld
	case errors.Is(err, headrace.ErrSource):
		return wire.CodeSource
	case errors.Is(err, headrace.ErrSampler), errors.Is(err, headrace.ErrState), errors.Is(err, headrace.ErrConfig),
		errors.Is(err, budget.ErrTooSmall):
		return wire.CodeRecipe
	case errors.Is(err, arena.ErrMemory):
		return wire.CodeMemory
	case errors.Is(err, headrace.ErrTooManyLost):
		return wire.CodeBudget
	case errors.Is(err, headrace.ErrShort):
		return wire.CodeShort
	case errors.As(err, &bad):
		return wire.CodeSample
	default:
		return wire.CodeInternal
	}
}

// failure returns an error in the form that the client gets.
func failure(index *int, err error) wire.Failure {
	f := wire.Failure{Index: index, Code: wire.CodeSample, Message: err.Error()}
	var known codedError
	var errno syscall.Errno
	var panicked *pipe.PanicError
	switch {
	case errors.As(err, &known):
		f.Code = known.code
	case errors.As(err, &panicked):
		f.Code = wire.CodeInternal
		slog.Error("an operation on media panicked", "value", panicked.Value, "stack", string(panicked.Stack))
	case errors.Is(err, arena.ErrMemory), machine.BlameOf(err) == machine.BlameMachine:
		f.Code = wire.CodeMemory // no input's fault, so the policy for bad ones has no say
		if machine.NoServer(err) && errors.As(err, &errno) {
			f.Errno = int(errno)
		}
	case errors.As(err, &errno):
		f.Errno = int(errno)
	case errors.Is(err, fs.ErrNotExist): // of a store, which has no such numbers
		f.Errno = int(syscall.ENOENT)
	}
	return f
}
