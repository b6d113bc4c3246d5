package serve

import (
	"errors"
	"strings"
	"syscall"

	"headrace"
	"headrace/arena"
	"headrace/budget"
	"headrace/extern"
	"headrace/internal/machine"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
	"headrace/wire"
)

// codedError is an error of which the place where it rose knows the code.
type codedError struct {
	code wire.Code
	error
}

func (e codedError) Unwrap() error { return e.error }

func coded(code wire.Code, err error) error { return codedError{code, err} }

// report sends err to the client, with the stage and the sample to blame where there are any, behind what workers have said before.
func (s *session) report(err error) error {
	s.logbook.flush()
	return s.conn.SendJSON(wire.KindError, s.stream.Load(), describe(err))
}

func describe(err error) wire.Error {
	e := wire.Error{Code: code(err), Message: err.Error()}
	var stage *pipe.StageError
	if errors.As(err, &stage) {
		e.Stage, e.Source, e.Epoch, e.Position = stage.Stage, stage.Source, &stage.Epoch, &stage.Pos
	}
	var bad *sample.Error
	if errors.As(err, &bad) {
		e.Key, e.Index, e.Output = pathJSON(bad.Key), &bad.Index, bad.Output.Numbers()
	}
	var call *extern.CallError
	if errors.As(err, &call) {
		e.RemoteType, e.RemoteMessage, e.RemoteTraceback = call.Type, call.Message, call.Traceback
		if where, ok := strings.CutSuffix(e.Message, ": "+call.Error()); ok && e.Code == wire.CodeSample {
			e.Message = call.Error() + "\n" + where // the user's own line first
		}
	}
	return e
}

func code(err error) wire.Code {
	var known codedError
	var held *arena.HeldError
	var bad *sample.Error
	var mistake *recipe.Error
	var start *extern.StartError
	var short *machine.Shortage
	var setting *headrace.Mistake
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
	case errors.Is(err, headrace.ErrState), errors.Is(err, headrace.ErrConfig), errors.Is(err, budget.ErrTooSmall):
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

// pathJSON writes a path so that bytes that are no UTF-8 survive.
func pathJSON(p string) wire.Path {
	b, err := recipe.Path(p).MarshalJSON()
	if err != nil {
		return wire.Path(`""`)
	}
	return b
}
